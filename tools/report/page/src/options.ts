// SPDX-License-Identifier: Apache-2.0
// What ECharts draws for each kind of chart.

import type { EChartsCoreOption } from 'echarts/core'
import { axisFormatter, axisTitle, formatted, logFormatter, plain } from './format'
import type { Axis, Chart, GanttChart, HeatChart, LineChart, ScatterChart, Series, TopologyChart } from './report'
import type { Theme } from './theme'

type Option = Record<string, unknown>

export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[letter]!)
}

/** A heading and lines of name and value. */
export function tip(heading: string, lines: [string, string][]): string {
  const rows = lines.map(([name, value]) => `<tr><td>${escaped(name)}</td><td>${escaped(value)}</td></tr>`).join('')
  return `<strong>${escaped(heading)}</strong><table>${rows}</table>`
}

function largestOf(values: (number | null)[]): number {
  return values.reduce<number>((most, value) => (value !== null && Math.abs(value) > most ? Math.abs(value) : most), 0)
}

function numberAxis(axis: Axis, largest: number, theme: Theme, extra: Option = {}, whole = false): Option {
  const text = { color: theme.faint, fontSize: 12 }
  const lines = {
    axisLine: { lineStyle: { color: theme.faint } },
    splitLine: { lineStyle: { color: theme.grid } },
    axisLabel: { ...text, hideOverlap: true },
  }
  if (axis.categories) {
    return { ...lines, type: 'category', data: axis.categories, name: axisTitle(axis.name, axis.unit), nameTextStyle: text, ...extra }
  }
  const formatter = axis.log ? logFormatter(axis.unit) : axisFormatter(axis.unit, largest)
  return {
    ...lines,
    type: axis.log ? 'log' : 'value',
    name: axisTitle(axis.name, axis.unit),
    nameTextStyle: text,
    axisLabel: { ...text, hideOverlap: true, formatter, alignMaxLabel: axis.name === 'time' ? 'right' : null },
    ...(axis.unit === '' && whole ? { minInterval: 1 } : {}),
    ...extra,
  }
}

function xAxis(axis: Axis, largest: number, theme: Theme, extra: Option = {}, whole = false): Option {
  return numberAxis(axis, largest, theme, { nameLocation: 'middle', nameGap: 30, splitLine: { show: false }, ...extra }, whole)
}

function yAxis(axis: Axis, largest: number, theme: Theme, extra: Option = {}): Option {
  return numberAxis(axis, largest, theme, { nameLocation: 'end', nameTextStyle: { color: theme.faint, fontSize: 12, align: 'left' }, ...extra })
}

function common(theme: Theme, names: string[]): Option {
  return {
    animation: false,
    color: theme.series,
    textStyle: { color: theme.ink, fontFamily: 'system-ui, sans-serif' },
    grid: { left: 12, right: 24, top: names.length > 1 ? 64 : 36, bottom: 40, containLabel: true },
    legend: {
      show: names.length > 1, type: 'scroll', top: 0, left: 0, data: names, selectedMode: false, pageIconColor: theme.ink,
      textStyle: { color: theme.ink, fontSize: 12 }, pageTextStyle: { color: theme.ink }, itemWidth: 18, itemHeight: 8,
    },
    tooltip: { confine: true, className: 'tip', backgroundColor: theme.ground, borderColor: theme.faint, textStyle: { color: theme.ink, fontSize: 13 } },
  }
}

function xText(axis: Axis, value: number): string {
  return axis.categories ? (axis.categories[value] ?? '') : formatted(value, axis.unit)
}

/** What a point of a line or cloud says. */
export function pointTip(chart: LineChart | ScatterChart, series: Series, i: number): string {
  const [x, y] = series.values[i]!
  const lines: [string, string][] = [
    [chart.x.name, xText(chart.x, x)],
    [chart.y.name, formatted(y, chart.y.unit)],
  ]
  const interval = series.intervals?.[i]
  if (interval) lines.push(['95 %', `${formatted(interval[0], chart.y.unit)} to ${formatted(interval[1], chart.y.unit)}`])
  const label = series.labels?.[i]
  return tip(label ? `${series.name}: ${label}` : series.name, lines)
}

interface Drawing {
  value: (at: number) => number
  coord: (point: [number, number]) => [number, number]
  size?: (size: [number, number]) => [number, number]
}

/** A vertical line with caps from the lower end of an interval to the upper one. */
function intervalBars(series: Series, color: string): Option | null {
  const data = series.values.flatMap(([x], i) => {
    const interval = series.intervals?.[i]
    return interval ? [[x, interval[0], interval[1]]] : []
  })
  if (data.length === 0) return null
  return {
    type: 'custom', name: series.name, data, silent: true, tooltip: { show: false }, z: 1, encode: { x: 0, y: [1, 2] },
    renderItem: (_: unknown, api: Drawing) => {
      const [x, low] = api.coord([api.value(0), api.value(1)])
      const [, high] = api.coord([api.value(0), api.value(2)])
      const cap = 5
      const style = { stroke: color, lineWidth: 1.5 }
      const line = (x1: number, y1: number, x2: number, y2: number): Option => ({ type: 'line', shape: { x1, y1, x2, y2 }, style })
      return { type: 'group', children: [line(x, low, x, high), line(x - cap, low, x + cap, low), line(x - cap, high, x + cap, high)] }
    },
  }
}

const SYMBOLS = ['circle', 'rect', 'triangle', 'diamond', 'roundRect', 'pin', 'arrow', 'circle']
const DASHES = ['solid', 'dashed', 'dotted', [10, 4, 2, 4], 'solid', 'dashed', 'dotted', [10, 4, 2, 4]]

function ySpan(series: Series[]): Option {
  const values = series.flatMap((one) => one.values.map(([, y]) => y)).filter((y): y is number => y !== null)
  const ends = series.flatMap((one) => (one.intervals ?? []).flatMap((interval) => interval ?? []))
  const low = Math.min(...values, ...ends)
  const high = Math.max(...values, ...ends)
  // From 0, unless that would press everything into a strip at the top; but differences that are
  // next to nothing look like nothing.
  return values.length > 0 && low > 0.7 * high && low < 0.98 * high ? { scale: true } : {}
}

function lineOption(chart: LineChart, theme: Theme): Option {
  const names = chart.series.map((one) => one.name)
  const xs = chart.series.flatMap((one) => one.values.map(([x]) => x))
  const ys = chart.series.flatMap((one) => one.values.map(([, y]) => y))
  const drawn = chart.series.flatMap((one, i) => {
    const color = theme.series[i % theme.series.length]!
    const line: Option = {
      type: 'line', name: one.name, data: one.values, step: chart.step ? 'end' : false, showSymbol: chart.marked ?? false,
      symbol: SYMBOLS[i % SYMBOLS.length], symbolSize: 8, connectNulls: false, lineStyle: { width: 2, type: DASHES[i % DASHES.length] }, itemStyle: { color }, z: 3,
    }
    const bars = intervalBars(one, color)
    return bars ? [line, bars] : [line]
  })
  const base = common(theme, names)
  return {
    ...base,
    xAxis: xAxis(chart.x, largestOf(xs), theme, chart.x.categories ? { boundaryGap: true } : chart.x.log ? { scale: true } : { min: 'dataMin', max: 'dataMax' }, xs.every(Number.isInteger)),
    yAxis: yAxis(chart.y, largestOf(ys), theme, { ...(chart.y.unit === 'share' && chart.y.max ? { max: chart.y.max } : {}), ...ySpan(chart.series) }),
    series: drawn,
    tooltip: {
      ...(base.tooltip as Option), trigger: 'axis',
      formatter: (given: { seriesName: string; seriesType: string; value: [number, number | null] }[]) => {
        const lines = given.filter((one) => one.seriesType === 'line')
        if (lines.length === 0) return ''
        return tip(`${chart.x.name}: ${xText(chart.x, lines[0]!.value[0])}`,
          lines.map((one): [string, string] => [one.seriesName, formatted(one.value[1], chart.y.unit)]))
      },
    },
  }
}

function scatterOption(chart: ScatterChart, theme: Theme): Option {
  const base = common(theme, chart.series.map((one) => one.name))
  const all = chart.series.flatMap((one) => one.values)
  const crowd = all.length > 300
  return {
    ...base,
    xAxis: xAxis(chart.x, largestOf(all.map(([x]) => x)), theme, { scale: true }),
    yAxis: yAxis(chart.y, largestOf(all.map(([, y]) => y)), theme, { scale: true }),
    series: chart.series.map((one, i) => {
      const joined = chart.joined?.includes(one.name)
      return {
        type: joined ? 'line' : 'scatter', name: one.name, data: one.values, symbol: SYMBOLS[i % SYMBOLS.length], symbolSize: crowd ? 5 : 11,
        itemStyle: { color: theme.series[i % theme.series.length], opacity: crowd ? 0.55 : 1 }, ...(joined ? { lineStyle: { width: 2 } } : {}),
      }
    }),
    tooltip: {
      ...(base.tooltip as Option), trigger: 'item',
      formatter: (given: { seriesIndex: number; dataIndex: number }) => pointTip(chart, chart.series[given.seriesIndex]!, given.dataIndex),
    },
  }
}

function barOption(chart: Extract<Chart, { kind: 'bars' }>, theme: Theme): Option {
  const base = common(theme, chart.series.map((one) => one.name))
  const sums = chart.categories.map((_, i) => chart.series.reduce((sum, one) => sum + (one.values[i] ?? 0), 0))
  return {
    ...base,
    xAxis: xAxis(chart.y, largestOf(sums), theme, { splitLine: { lineStyle: { color: theme.grid } } }),
    yAxis: {
      type: 'category', data: chart.categories, inverse: true, axisLine: { lineStyle: { color: theme.faint } },
      axisLabel: { color: theme.ink, width: 150, overflow: 'truncate' }, axisTick: { show: false },
    },
    series: chart.series.map((one, i) => ({
      type: 'bar', stack: 'all', name: one.name, data: one.values, barMaxWidth: 26,
      itemStyle: { color: theme.series[i % theme.series.length], borderColor: theme.ground, borderWidth: 1 },
    })),
    tooltip: {
      ...(base.tooltip as Option), trigger: 'axis', axisPointer: { type: 'shadow' },
      formatter: (given: { seriesName: string; dataIndex: number; value: number | null }[]) => {
        const at = given[0]!.dataIndex
        return tip(chart.categories[at] ?? '', given.map((one): [string, string] => {
          const share = sums[at]! > 0 && one.value !== null && given.length > 1 ? ` (${plain((100 * one.value) / sums[at]!, 3)} %)` : ''
          return [one.seriesName, formatted(one.value, chart.y.unit) + share]
        }))
      },
    },
  }
}

/** By state, the same in every report. */
const STATE_COLORS: Record<string, number> = { ended: 0, failed: 4, preempted: 1, moved: 3, cancelled: 5, running: 2 }

function ganttOption(chart: GanttChart, theme: Theme): Option {
  const base = common(theme, chart.states.length > 1 ? chart.states : [])
  const color = (state: number): string => theme.series[(STATE_COLORS[chart.states[state] ?? ''] ?? state) % theme.series.length]!
  const dense = chart.rows.length > 30
  return {
    ...base,
    xAxis: xAxis(chart.x, largestOf(chart.bars.map((bar) => bar[2])), theme, { splitLine: { lineStyle: { color: theme.grid } } }),
    yAxis: {
      type: 'category', data: chart.rows, inverse: true, axisLine: { lineStyle: { color: theme.faint } }, axisTick: { show: false },
      axisLabel: { color: theme.ink, width: 150, overflow: 'truncate' },
    },
    series: chart.states.map((name, state) => ({
      type: 'custom', name, encode: { x: [1, 2], y: 0 }, itemStyle: { color: color(state) },
      data: chart.bars.flatMap((bar, i) => (bar[3] === state ? [[bar[0], bar[1], bar[2], i]] : [])),
      renderItem: (_: unknown, api: Drawing) => {
        const [x1, y] = api.coord([api.value(1), api.value(0)])
        const [x2] = api.coord([api.value(2), api.value(0)])
        const height = Math.max(2, Math.min(24, (dense ? 0.85 : 0.65) * api.size!([0, 1])[1]))
        return { type: 'rect', shape: { x: x1, y: y - height / 2, width: Math.max(1.5, x2 - x1), height, r: dense ? 0 : 2 }, style: { fill: color(state) } }
      },
    })),
    tooltip: {
      ...(base.tooltip as Option), trigger: 'item',
      formatter: (given: { value: [number, number, number, number]; seriesName: string }) => {
        const [row, begin, end, i] = given.value
        return tip(chart.rows[row] ?? '', [
          ['from', formatted(begin, chart.x.unit)], ['to', formatted(end, chart.x.unit)], ['lasted', formatted(end - begin, chart.x.unit)],
          [given.seriesName, chart.details[i] ?? ''],
        ])
      },
    },
  }
}

function colorScale(axis: Axis, values: number[], theme: Theme): Option {
  const formatter = axisFormatter(axis.unit, largestOf(values))
  return {
    min: 0, max: axis.max ?? Math.max(largestOf(values), Number.MIN_VALUE), calculable: false, orient: 'horizontal', right: 8, top: 0, itemHeight: 120,
    itemWidth: 12, inRange: { color: theme.scale }, textStyle: { color: theme.ink }, precision: 3,
    text: [formatter(axis.max ?? largestOf(values)), '0'],
  }
}

function heatOption(chart: HeatChart, theme: Theme): Option {
  const base = common(theme, [])
  const values = chart.cells.map((cell) => cell[2])
  const xs = chart.x.values
  const xName = xs ? axisFormatter(chart.x.unit, largestOf(xs)) : null
  const columns = xs && xName ? xs.map((x) => xName(x)) : chart.x.categories
  const label = (at: number): string => (xs ? formatted(xs[at] ?? null, chart.x.unit) : (chart.x.categories?.[at] ?? ''))
  const few = chart.cells.length <= 60
  const low = Math.min(...values)
  const scale = colorScale(chart.z, values, theme)
  // Grids of studies are about differences, shares of a link about 0 to 1.
  if (chart.z.max === undefined && low < 0.98 * largestOf(values)) {
    scale.min = low
    scale.text = [formatted(largestOf(values), chart.z.unit), formatted(low, chart.z.unit)]
  }
  const span = (chart.z.max ?? largestOf(values)) - (scale.min as number)
  return {
    ...base,
    grid: { left: 12, right: 24, top: 44, bottom: 40, containLabel: true },
    xAxis: { type: 'category', data: columns, name: axisTitle(chart.x.name, chart.x.unit), nameLocation: 'middle', nameGap: 30, nameTextStyle: { color: theme.faint },
      axisLine: { lineStyle: { color: theme.faint } }, axisLabel: { color: theme.faint, hideOverlap: true }, axisTick: { show: false } },
    yAxis: { type: 'category', data: chart.y.categories, name: few ? chart.y.name : '', nameTextStyle: { color: theme.faint, align: 'left' }, nameLocation: 'start',
      inverse: true, axisLine: { show: false }, axisTick: { show: false }, axisLabel: { color: theme.ink, width: 150, overflow: 'truncate' } },
    visualMap: { ...scale, type: 'continuous' },
    series: [{
      type: 'heatmap', name: chart.z.name,
      data: chart.cells.map((cell) => ({
        value: cell,
        ...(few ? { label: { show: true, color: ((cell[2] - (scale.min as number)) / span > 0.45) === (theme.ground === '#ffffff') ? '#ffffff' : '#10202f', formatter: () => formatted(cell[2], chart.z.unit, 3) } } : {}),
      })),
      itemStyle: few ? { borderColor: theme.ground, borderWidth: 2 } : {},
      progressive: 0,
    }],
    tooltip: {
      ...(base.tooltip as Option), trigger: 'item',
      formatter: (given: { value: [number, number, number] }) => {
        const [column, row, value] = given.value
        return tip(chart.y.categories?.[row] ?? '', [[chart.x.name, label(column)], [chart.z.name, formatted(value, chart.z.unit)]])
      },
    },
  }
}

/** The colour of a share of the way from little to much. */
export function scaleColor(theme: Theme, share: number): string {
  const steps = theme.scale.length - 1
  const at = Math.min(Math.max(share, 0), 1) * steps
  const i = Math.min(Math.floor(at), steps - 1)
  const parts = (color: string): number[] => [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16))
  const from = parts(theme.scale[i]!)
  const to = parts(theme.scale[i + 1]!)
  return `#${from.map((part, k) => Math.round(part + (to[k]! - part) * (at - i)).toString(16).padStart(2, '0')).join('')}`
}

/** Levels above each other, the hosts at the bottom; nodes of a level side by side. */
export function places(chart: TopologyChart): [number, number][] {
  const sizes = chart.levels.map((_, level) => chart.nodes.filter((node) => node[1] === level).length)
  const next = chart.levels.map(() => 0)
  return chart.nodes.map(([, level]) => {
    const i = next[level]!++
    return [((i + 0.5) / sizes[level]!) * 1000, (chart.levels.length - 1 - level) * 160]
  })
}

function topologyOption(chart: TopologyChart, theme: Theme): Option {
  const base = common(theme, [])
  const values = chart.links.map((link) => link[2])
  const most = chart.z.max ?? Math.max(largestOf(values), Number.MIN_VALUE)
  const at = places(chart)
  const many = Math.max(...chart.levels.map((_, level) => chart.nodes.filter((node) => node[1] === level).length))
  return {
    ...base,
    visualMap: { ...colorScale(chart.z, values, theme), type: 'continuous', seriesIndex: [], max: most },
    series: [{
      type: 'graph', layout: 'none', left: 20, right: 20, top: 56, bottom: 40, roam: false, name: chart.z.name, silent: false,
      data: chart.nodes.map(([name], i) => ({
        name: String(i), value: name, x: at[i]![0], y: at[i]![1], symbol: 'roundRect', symbolSize: many > 40 ? 6 : many > 16 ? 10 : 16,
        itemStyle: { color: theme.faint }, label: { show: many <= 18, formatter: () => name, position: chart.nodes[i]![1] === 0 ? 'bottom' : 'top', color: theme.ink, fontSize: 11, ...(many > 10 ? { rotate: 30 } : {}) },
      })),
      // The hottest on top.
      links: chart.links.map((link, i) => ({ link, i })).sort((a, b) => a.link[2] - b.link[2]).map(({ link, i }) => ({
        source: String(link[0]), target: String(link[1]), value: i,
        lineStyle: { color: scaleColor(theme, 0.15 + 0.85 * (link[2] / most)), width: 0.8 + 3.2 * Math.min(1, link[2] / most), opacity: 1, curveness: 0 },
      })),
      emphasis: { focus: 'adjacency', lineStyle: { width: 4 } },
    }],
    tooltip: {
      ...(base.tooltip as Option), trigger: 'item',
      formatter: (given: { dataType: string; value: unknown }) => {
        if (given.dataType === 'node') return tip(String(given.value), [])
        const link = chart.links[given.value as number]!
        return tip(`${chart.nodes[link[0]]?.[0]} – ${chart.nodes[link[1]]?.[0]}`, [['busiest link', link[3]], [chart.z.name, formatted(link[2], chart.z.unit)]])
      },
    },
  }
}

export function optionOf(chart: Chart, theme: Theme): EChartsCoreOption {
  switch (chart.kind) {
    case 'lines': return lineOption(chart, theme)
    case 'scatter': return scatterOption(chart, theme)
    case 'bars': return barOption(chart, theme)
    case 'gantt': return ganttOption(chart, theme)
    case 'heat': return heatOption(chart, theme)
    case 'topology': return topologyOption(chart, theme)
  }
}

/** How high it is drawn, in pixels. */
export function heightOf(chart: Chart): number {
  switch (chart.kind) {
    case 'gantt': return Math.min(900, Math.max(150, 90 + chart.rows.length * 30))
    case 'bars': return Math.min(900, Math.max(170, 110 + chart.categories.length * 34))
    case 'heat': return Math.min(700, Math.max(180, 110 + (chart.y.categories?.length ?? 1) * 44))
    case 'topology': return 120 + chart.levels.length * 120
    default: return 330
  }
}

/** Series and index of every point that the keyboard goes through, at most `most` of them. */
export function stops(chart: Chart, most = 200): [number, number][] {
  const all: [number, number][] = []
  if (chart.kind === 'gantt') {
    chart.states.forEach((_, state) => {
      const count = chart.bars.filter((bar) => bar[3] === state).length
      for (let i = 0; i < count; ++i) all.push([state, i])
    })
  } else if (chart.kind === 'heat') {
    chart.cells.forEach((_, i) => all.push([0, i]))
  } else if (chart.kind === 'topology') {
    chart.nodes.forEach((_, i) => all.push([0, i]))
  } else if (chart.kind === 'bars') {
    chart.categories.forEach((_, i) => all.push([0, i]))
  } else if (chart.kind === 'lines') {
    // Series with intervals are drawn as two, and a tip tells of all at one place.
    const longest = chart.series.reduce((best, one, i) => (one.values.length > chart.series[best]!.values.length ? i : best), 0)
    const drawn = chart.series.slice(0, longest).reduce((count, one) => count + (one.intervals?.some((interval) => interval) ? 2 : 1), 0)
    chart.series[longest]?.values.forEach((_, i) => all.push([drawn, i]))
  } else {
    chart.series.forEach((one, series) => one.values.forEach((_, i) => all.push([series, i])))
  }
  const every = Math.ceil(all.length / most)
  return every > 1 ? all.filter((_, i) => i % every === 0) : all
}
