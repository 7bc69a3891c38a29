// SPDX-License-Identifier: Apache-2.0
// One chart of each kind.
import type { BarChart, GanttChart, HeatChart, LineChart, ScatterChart, TopologyChart } from '../src/report'

const described = { title: 'A title', caption: 'In words.' }

export const lines: LineChart = {
  ...described, kind: 'lines', id: 'lines', x: { name: 'queue pairs', unit: '' }, y: { name: 'time', unit: 's' },
  series: [
    { name: 'a', values: [[1, 0.5], [2, null], [4, 0.25]], intervals: [[0.4, 0.6], null, null] },
    { name: 'b', values: [[1, 0.1], [2, 0.2], [4, 0.3], [8, 0.4]] },
  ],
}
export const scatter: ScatterChart = {
  ...described, kind: 'scatter', id: 'scatter', x: { name: 'cost', unit: '' }, y: { name: 'time', unit: 's' }, joined: ['front'],
  series: [{ name: 'front', values: [[1, 2], [2, 1]], labels: ['buffer 1MB', 'buffer 2MB'] }, { name: 'beaten', values: [[3, 3]], labels: ['<b>'] }],
}
export const bars: BarChart = {
  ...described, kind: 'bars', id: 'bars', categories: ['dense', 'late'], category_name: 'job', y: { name: 'time', unit: 's' },
  series: [{ name: 'computation', values: [3, 2] }, { name: 'exposed', values: [1, null] }],
}
export const gantt: GanttChart = {
  ...described, kind: 'gantt', id: 'gantt', row_name: 'job', state_name: 'ended as', detail_name: 'on', x: { name: 'time', unit: 's' }, rows: ['dense', 'late'], states: ['ended', 'failed'],
  bars: [[0, 0, 5, 0], [1, 1, 2, 1], [1, 3, 4, 0]], details: ['64 GPUs', '8 GPUs', '8 GPUs'],
}
export const heat: HeatChart = {
  ...described, kind: 'heat', id: 'heat', x: { name: 'time', unit: 's', values: [0, 0.001] }, y: { name: 'tier', unit: '', categories: ['host->leaf', 'leaf->spine'] },
  z: { name: 'utilization', unit: 'share', max: 1 }, cells: [[0, 0, 0.5], [1, 1, 0.25]],
}
export const topology: TopologyChart = {
  ...described, kind: 'topology', id: 'topology', z: { name: 'utilization', unit: 'share' }, levels: ['host', 'leaf'],
  nodes: [['host0', 0], ['host1', 0], ['leaf0', 1]], links: [[0, 2, 0.1, 'host0/nic0->leaf0'], [1, 2, 0.9, 'leaf0->host1/nic0']],
}
export const every = [lines, scatter, bars, gantt, heat, topology]
