// SPDX-License-Identifier: Apache-2.0
// What tools/report hands to the page: sections of charts, tables and notes, already reduced.
// Every number is in the base unit of its axis (seconds, bytes, bits per second, shares of 1).

export type Unit = '' | 's' | 'bytes' | 'bps' | 'share' | 'GPUs' | 'text' | string

export interface Axis {
  name: string
  unit: Unit
  log?: boolean
  /** Names in place of numbers. */
  categories?: string[]
  /** Up to where a scale of colours goes; the largest value unless given. */
  max?: number
}

export interface Series {
  name: string
  /** x and y; y is null where nothing is known. */
  values: [number, number | null][]
  /** Of each value, from where to where its interval goes. */
  intervals?: ([number, number] | null)[]
  /** What a point stands for, for tooltips and the table. */
  labels?: string[]
}

interface Described {
  id: string
  title: string
  /** The picture in words: what it shows, with its most important numbers. */
  caption: string
  /** What was left out or put together, and how. */
  note?: string
}

export interface LineChart extends Described {
  kind: 'lines'
  x: Axis
  y: Axis
  /** A value holds until the next one. */
  step?: boolean
  /** Points are few and are drawn, too. */
  marked?: boolean
  series: Series[]
}

export interface ScatterChart extends Described {
  kind: 'scatter'
  x: Axis
  y: Axis
  series: Series[]
  /** Names of series that a line joins. */
  joined?: string[]
}

export interface BarChart extends Described {
  kind: 'bars'
  categories: string[]
  category_name: string
  y: Axis
  series: { name: string; values: (number | null)[] }[]
}

export interface GanttChart extends Described {
  kind: 'gantt'
  x: Axis
  /** What rows, states and details are. */
  row_name: string
  state_name: string
  detail_name: string
  rows: string[]
  states: string[]
  /** Row, begin, end, state. */
  bars: [number, number, number, number][]
  details: string[]
}

export interface HeatChart extends Described {
  kind: 'heat'
  x: Axis & { values?: number[] }
  y: Axis
  z: Axis
  /** Column, row, value. */
  cells: [number, number, number][]
}

export interface TopologyChart extends Described {
  kind: 'topology'
  z: Axis
  levels: string[]
  /** Name, level. */
  nodes: [string, number][]
  /** Two nodes, value, the busiest link that the line stands for. */
  links: [number, number, number, string][]
}

export type Chart = LineChart | ScatterChart | BarChart | GanttChart | HeatChart | TopologyChart
export type Cell = string | number | null

export interface Column {
  name: string
  unit: Unit
}

export interface Table {
  id: string
  title: string
  columns: Column[]
  rows: Cell[][]
  note?: string
}

export interface Figure {
  name: string
  value: Cell
  unit: Unit
  /** What it is measured against or how it spreads. */
  more?: string
}

export interface Section {
  id: string
  title: string
  text: string[]
  notes: string[]
  charts: Chart[]
  tables: Table[]
}

export interface Report {
  kind: string
  title: string
  subtitle: string
  /** What the reader must know before any figure. */
  warnings: string[]
  figures: Figure[]
  sections: Section[]
  version: string
}
