// SPDX-License-Identifier: Apache-2.0
// Numbers with their units, as people read them.

import type { Cell, Unit } from './report'

const DIGITS = 4

/** Without an exponent where a plain number is as short: 1,234, 0.05, 1.2e-7. */
export function plain(value: number, digits = DIGITS): string {
  if (value === 0) return '0'
  if (!Number.isFinite(value)) return String(value)
  const size = Math.abs(value)
  if (size >= 10 ** digits && size < 1e15) return Math.round(value).toLocaleString('en-US')
  if (size < 1e-4 || size >= 1e15) return value.toExponential(digits - 2).replace(/\.?0+e/, 'e')
  return String(Number(value.toPrecision(digits)))
}

const TIMES: [number, string][] = [
  [86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's'], [1e-3, 'ms'], [1e-6, 'us'], [1e-9, 'ns'],
]
const BYTES: [number, string][] = [[1e15, 'PB'], [1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']]
const RATES: [number, string][] = [[1e12, 'Tbps'], [1e9, 'Gbps'], [1e6, 'Mbps'], [1e3, 'kbps'], [1, 'bps']]

function scaled(value: number, units: [number, string][], digits: number): string {
  const smallest = units[units.length - 1]!
  if (value === 0) return units === TIMES ? '0 s' : `0 ${smallest[1]}`
  const size = Math.abs(value)
  // Long times stay in the smaller unit until it takes more than three figures.
  const found = units.find(([factor]) => size >= (factor >= 60 ? 2 * factor : factor) * (1 - 1e-9)) ?? smallest
  return `${plain(value / found[0], digits)} ${found[1]}`
}

/** "12.91 ms", "3.2 %", "870.1 kB". */
export function formatted(value: Cell, unit: Unit, digits = DIGITS): string {
  if (value === null) return '–'
  if (typeof value === 'string') return value
  switch (unit) {
    case 's': return scaled(value, TIMES, digits)
    case 'bytes': return scaled(value, BYTES, digits)
    case 'bps': return scaled(value, RATES, digits)
    case 'share': return `${plain(value * 100, Math.min(digits, 3))} %`
    case '': case 'text': return plain(value, digits)
    default: return `${plain(value, digits)} ${unit}`
  }
}

/** Of an axis, whose name carries no unit of its own where numbers do. */
export function axisTitle(name: string, unit: Unit): string {
  return unit === '' || unit === 'text' || ['s', 'bytes', 'bps', 'share'].includes(unit) ? name : `${name} (${unit})`
}

/** Labels along an axis: the unit that suits its largest value, the same for all. */
export function axisFormatter(unit: Unit, largest: number): (value: number) => string {
  const units = unit === 's' ? TIMES : unit === 'bytes' ? BYTES : unit === 'bps' ? RATES : null
  if (units === null) return (value) => (unit === 'share' ? `${plain(value * 100, 3)} %` : plain(value, 5))
  const [factor, name] = units.find(([size]) => Math.abs(largest) >= (size >= 60 ? 2 * size : size)) ?? units[units.length - 1]!
  return (value) => (value === 0 ? '0' : `${plain(value / factor, 5)} ${name}`)
}

/** Labels along a logarithmic axis: each in the unit that suits it. */
export function logFormatter(unit: Unit): (value: number) => string {
  return (value) => formatted(value, unit, 3)
}
