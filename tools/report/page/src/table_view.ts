// SPDX-License-Identifier: Apache-2.0
// Tables: sorted by a click on a column, and long ones shown in parts.

import { element } from './elements'
import { formatted } from './format'
import type { Cell, Table } from './report'

export const ROWS_AT_FIRST = 25
const ROWS_MORE = 500

/** Numbers by size, names as people sort them, what is missing last. */
export function compared(a: Cell, b: Cell): number {
  if (a === null || a === '') return b === null || b === '' ? 0 : 1
  if (b === null || b === '') return -1
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return String(a).localeCompare(String(b), 'en', { numeric: true })
}

const SHORT = 36

function cellView(text: string, isHead: boolean, isNumber: boolean): HTMLElement {
  const name = isNumber ? 'number' : text.length <= SHORT ? 'short' : ''
  return element(isHead ? 'th' : 'td', { ...(isHead ? { scope: 'row' } : {}), ...(name ? { class: name } : {}) }, text)
}

export function tableView(table: Table): HTMLElement {
  let rows = table.rows
  let shown = Math.min(ROWS_AT_FIRST, rows.length)
  let sorted: { column: number; down: boolean } | null = null
  const isNumber = table.columns.map((column, i) => column.unit !== 'text' && rows.every((row) => typeof row[i] !== 'string' || row[i] === ''))
  const body = element('tbody')
  const more = element('button', { type: 'button', class: 'more' })

  const fill = (): void => {
    body.replaceChildren(...rows.slice(0, shown).map((row) =>
      element('tr', {}, ...table.columns.map((column, i) =>
        cellView(formatted(row[i] ?? null, column.unit), i === 0 && row[i] !== '', isNumber[i]!)))))
    const left = rows.length - shown
    more.hidden = left === 0
    more.textContent = `Show ${Math.min(left, ROWS_MORE).toLocaleString('en-US')} more of ${left.toLocaleString('en-US')} rows`
  }
  more.addEventListener('click', () => {
    shown = Math.min(rows.length, shown + ROWS_MORE)
    fill()
  })

  const heads = table.columns.map((column, i) => {
    const button = element('button', { type: 'button' }, column.name)
    const head = element('th', { scope: 'col', ...(isNumber[i] ? { class: 'number' } : {}) }, button)
    button.addEventListener('click', () => {
      const down: boolean = sorted?.column === i ? !sorted.down : false
      sorted = { column: i, down }
      rows = [...table.rows].sort((a, b) => (down ? -1 : 1) * compared(a[i] ?? null, b[i] ?? null))
      heads.forEach((other) => other.removeAttribute('aria-sort'))
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending')
      fill()
    })
    return head
  })
  fill()
  return element('div', { class: 'table' },
    element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Table: ${table.title}` },
      element('table', {}, element('thead', {}, element('tr', {}, ...heads)), body)),
    more,
    ...(table.note ? [element('p', { class: 'note' }, table.note)] : []))
}
