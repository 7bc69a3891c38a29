// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest'
import { heightOf, optionOf, places, pointTip, scaleColor, stops, tip } from '../src/options'
import { dark, light } from '../src/theme'
import { every, gantt, heat, lines, scatter, topology } from './samples'

type Drawn = { series: { type: string; name?: string; data: unknown[] }[] }

/** WCAG 2.2, relative luminance and contrast ratio. */
function contrast(a: string, b: string): number {
  const luminance = (color: string): number => {
    const [r, g, blue] = [1, 3, 5].map((start) => {
      const part = parseInt(color.slice(start, start + 2), 16) / 255
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    }) as [number, number, number]
    return 0.2126 * r + 0.7152 * g + 0.0722 * blue
  }
  const [darker, lighter] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number]
  return (lighter + 0.05) / (darker + 0.05)
}

describe('options', () => {
  it('draw something of every kind of chart, in both themes', () => {
    for (const chart of every) {
      for (const theme of [light, dark]) {
        const { series } = optionOf(chart, theme) as unknown as Drawn
        expect(series.length, chart.kind).toBeGreaterThan(0)
        expect(series.some((one) => one.data.length > 0), chart.kind).toBe(true)
      }
    }
  })
  it('draw intervals beside their line', () => {
    const { series } = optionOf(lines, light) as unknown as Drawn
    expect(series.map((one) => `${one.type} ${one.name}`)).toEqual(['line a', 'custom a', 'line b'])
    expect(series[1]!.data).toEqual([[1, 0.4, 0.6]])
  })
  it('put the attempts of each state into a series of its own', () => {
    const { series } = optionOf(gantt, light) as unknown as Drawn
    expect(series.map((one) => one.data.length)).toEqual([2, 1])
  })
  it('have a height that suits the number of rows', () => {
    expect(heightOf({ ...gantt, rows: Array.from({ length: 500 }, (_, i) => `job${i}`) })).toBe(900)
    expect(heightOf(heat)).toBeGreaterThan(100)
  })
})

describe('tips', () => {
  it('name the point and its values', () => {
    expect(pointTip(scatter, scatter.series[0]!, 1)).toContain('buffer 2MB')
    expect(pointTip(lines, lines.series[0]!, 0)).toContain('400 ms to 600 ms')
  })
  it('take no name for markup', () => {
    expect(pointTip(scatter, scatter.series[1]!, 0)).toContain('&lt;b&gt;')
    expect(tip('<script>', [['a&b', '"']])).toBe('<strong>&lt;script&gt;</strong><table><tr><td>a&amp;b</td><td>&quot;</td></tr></table>')
  })
})

describe('the keyboard', () => {
  it('stops at every point', () => {
    expect(stops(gantt)).toEqual([[0, 0], [0, 1], [1, 0]])
    expect(stops(scatter)).toEqual([[0, 0], [0, 1], [1, 0]])
    // The longest line is the second, and the first is drawn with its intervals: two series.
    expect(stops(lines)).toEqual([[2, 0], [2, 1], [2, 2], [2, 3]])
  })
  it('stops at every k-th of many', () => {
    const many = { ...heat, cells: Array.from({ length: 1000 }, (_, i): [number, number, number] => [i, 0, i]) }
    expect(stops(many, 200)).toHaveLength(200)
  })
})

describe('topologies', () => {
  it('have hosts below and switches above', () => {
    const at = places(topology)
    expect(at[0]![1]).toBeGreaterThan(at[2]![1])
    expect(at[0]![0]).toBeLessThan(at[1]![0])
  })
})

describe('colours', () => {
  it('of series stand out from the ground by 3:1, of text by 4.5:1', () => {
    for (const theme of [light, dark]) {
      for (const color of theme.series) expect(contrast(color, theme.ground), color).toBeGreaterThanOrEqual(3)
      for (const color of [theme.ink, theme.faint]) expect(contrast(color, theme.ground), color).toBeGreaterThanOrEqual(4.5)
    }
  })
  it('of scales go from end to end', () => {
    expect(scaleColor(light, 0)).toBe(light.scale[0])
    expect(scaleColor(light, 1)).toBe(light.scale[light.scale.length - 1])
    expect(scaleColor(light, 7)).toBe(light.scale[light.scale.length - 1])
  })
})
