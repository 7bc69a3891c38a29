// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest'
import { axisFormatter, axisTitle, formatted, logFormatter, plain } from '../src/format'

describe('numbers', () => {
  it('have four digits, and all before the point', () => {
    expect(plain(1234567)).toBe('1,234,567')
    expect(plain(12.345678)).toBe('12.35')
    expect(plain(0)).toBe('0')
    expect(plain(-0.05)).toBe('-0.05')
    expect(plain(1.5e-7)).toBe('1.5e-7')
  })
  it('carry the unit that suits them', () => {
    expect(formatted(0.01291, 's')).toBe('12.91 ms')
    expect(formatted(1.7e-5, 's')).toBe('17 us')
    expect(formatted(90, 's')).toBe('90 s')
    expect(formatted(7200, 's')).toBe('2 h')
    expect(formatted(0, 's')).toBe('0 s')
    expect(formatted(870134, 'bytes')).toBe('870.1 kB')
    expect(formatted(4e11, 'bps')).toBe('400 Gbps')
    expect(formatted(0.0315884, 'share')).toBe('3.16 %')
    expect(formatted(64, 'GPUs')).toBe('64 GPUs')
    expect(formatted(-2.5e-3, 's')).toBe('-2.5 ms')
  })
  it('that are missing show as such', () => expect(formatted(null, 's')).toBe('–'))
  it('leave texts alone', () => expect(formatted('host1->leaf0', 's')).toBe('host1->leaf0'))
})

describe('axes', () => {
  it('have one unit, that of the largest value', () => {
    const format = axisFormatter('s', 0.04)
    expect([0, 0.0005, 0.04].map(format)).toEqual(['0', '0.5 ms', '40 ms'])
    expect(axisFormatter('share', 1)(0.25)).toBe('25 %')
    expect(axisFormatter('', 10)(3)).toBe('3')
  })
  it('of logarithms have the unit of each value', () => {
    expect([1e-6, 1e-3].map(logFormatter('s'))).toEqual(['1 us', '1 ms'])
  })
  it('name a unit that their numbers lack', () => {
    expect(axisTitle('wait', 'iterations')).toBe('wait (iterations)')
    expect(axisTitle('time', 's')).toBe('time')
  })
})
