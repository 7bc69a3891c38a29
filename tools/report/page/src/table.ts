// SPDX-License-Identifier: Apache-2.0
// The table of a chart: the same numbers for those who read rather than look.

import type { Cell, Chart, Column, Series, Table } from './report'

function rowsOf(series: Series[], x: (value: number) => Cell): Cell[][] {
  return series.flatMap((one) =>
    one.values.map(([at, value], i) => {
      const interval = one.intervals?.[i] ?? null
      return [one.name, one.labels?.[i] ?? '', x(at), value, interval?.[0] ?? null, interval?.[1] ?? null]
    }),
  )
}

/** Columns in which nothing stands are left out. */
export function withoutEmpty(columns: Column[], rows: Cell[][]): { columns: Column[]; rows: Cell[][] } {
  const kept = columns.map((_, i) => rows.some((row) => row[i] !== null && row[i] !== ''))
  return { columns: columns.filter((_, i) => kept[i]), rows: rows.map((row) => row.filter((_, i) => kept[i])) }
}

/** Everything that the chart draws. */
export function tableOf(chart: Chart): Table {
  const described = { id: `${chart.id}-table`, title: chart.title }
  switch (chart.kind) {
    case 'lines':
    case 'scatter': {
      const categories = chart.x.categories
      const columns: Column[] = [
        { name: 'series', unit: 'text' },
        { name: 'point', unit: 'text' },
        { name: chart.x.name, unit: categories ? 'text' : chart.x.unit },
        { name: chart.y.name, unit: chart.y.unit },
        { name: '95 % from', unit: chart.y.unit },
        { name: '95 % to', unit: chart.y.unit },
      ]
      const x = (value: number): Cell => (categories ? (categories[value] ?? '') : value)
      return { ...described, ...withoutEmpty(columns, rowsOf(chart.series, x)) }
    }
    case 'bars':
      return {
        ...described,
        columns: [
          { name: chart.category_name, unit: 'text' },
          ...chart.series.map((one) => ({ name: one.name, unit: chart.y.unit })),
        ],
        rows: chart.categories.map((name, i) => [name, ...chart.series.map((one) => one.values[i] ?? null)]),
      }
    case 'gantt':
      return {
        ...described,
        columns: [
          { name: chart.row_name, unit: 'text' },
          { name: 'from', unit: chart.x.unit },
          { name: 'to', unit: chart.x.unit },
          { name: chart.state_name, unit: 'text' },
          { name: chart.detail_name, unit: 'text' },
        ],
        rows: chart.bars.map(([row, begin, end, state], i) => [
          chart.rows[row] ?? '', begin, end, chart.states[state] ?? '', chart.details[i] ?? '',
        ]),
      }
    case 'heat': {
      const name = (categories: string[] | undefined, values: number[] | undefined, at: number): Cell =>
        values ? (values[at] ?? null) : (categories?.[at] ?? '')
      return {
        ...described,
        columns: [
          { name: chart.y.name, unit: 'text' },
          { name: chart.x.name, unit: chart.x.values ? chart.x.unit : 'text' },
          { name: chart.z.name, unit: chart.z.unit },
        ],
        rows: chart.cells.map(([column, row, value]) => [
          name(chart.y.categories, undefined, row), name(chart.x.categories, chart.x.values, column), value,
        ]),
      }
    }
    case 'topology':
      return {
        ...described,
        columns: [
          { name: 'between', unit: 'text' },
          { name: 'and', unit: 'text' },
          { name: 'busiest link', unit: 'text' },
          { name: chart.z.name, unit: chart.z.unit },
        ],
        rows: [...chart.links]
          .sort((a, b) => b[2] - a[2])
          .map(([from, to, value, link]) => [chart.nodes[from]?.[0] ?? '', chart.nodes[to]?.[0] ?? '', link, value]),
      }
  }
}
