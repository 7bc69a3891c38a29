// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest'
import { tableOf } from '../src/table'
import { compared } from '../src/table_view'
import { bars, every, gantt, heat, lines, scatter, topology } from './samples'

describe('the table of a chart', () => {
  it('has a row for every number drawn', () => {
    expect(tableOf(lines).rows).toHaveLength(3 + 4)
    expect(tableOf(scatter).rows).toHaveLength(2 + 1)
    expect(tableOf(gantt).rows).toHaveLength(3)
    expect(tableOf(heat).rows).toHaveLength(2)
    expect(tableOf(topology).rows).toHaveLength(2)
  })
  it('has as many cells in each row as columns', () => {
    for (const chart of every) {
      const table = tableOf(chart)
      for (const row of table.rows) expect(row).toHaveLength(table.columns.length)
    }
  })
  it('has the ends of intervals, and no columns without values', () => {
    expect(tableOf(lines).columns.map((column) => column.name)).toEqual(['series', 'queue pairs', 'time', '95 % from', '95 % to'])
    expect(tableOf(lines).rows[0]).toEqual(['a', 1, 0.5, 0.4, 0.6])
    expect(tableOf(scatter).columns.map((column) => column.name)).toEqual(['series', 'point', 'cost', 'time'])
  })
  it('has a column for each part of a bar', () => {
    expect(tableOf(bars).rows).toEqual([['dense', 3, 1], ['late', 2, null]])
  })
  it('names rows and states of attempts', () => {
    expect(tableOf(gantt).rows[1]).toEqual(['late', 1, 2, 'failed', '8 GPUs'])
  })
  it('has times and names of cells', () => {
    expect(tableOf(heat).rows[1]).toEqual(['leaf->spine', 0.001, 0.25])
  })
  it('has the hottest links first', () => {
    expect(tableOf(topology).rows[0]).toEqual(['host1', 'leaf0', 'leaf0->host1/nic0', 0.9])
  })
})

describe('sorting', () => {
  it('goes by size, by names as people count, and has what is missing last', () => {
    expect([10, 9, null, 11].sort(compared)).toEqual([9, 10, 11, null])
    expect(['host10', 'host9', ''].sort(compared)).toEqual(['host9', 'host10', ''])
  })
})
