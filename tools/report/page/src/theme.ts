// SPDX-License-Identifier: Apache-2.0
// Colours of charts. Series differ for those who do not see red or green, and stand out from the
// ground by 3:1 at least.

export interface Theme {
  ink: string
  faint: string
  grid: string
  ground: string
  series: string[]
  /** From little to much. */
  scale: string[]
}

export const light: Theme = {
  ink: '#1c2733',
  faint: '#4d5a67',
  grid: '#dfe4e9',
  ground: '#ffffff',
  series: ['#0b62b8', '#b34a00', '#0a7a54', '#8a3fa6', '#a8304a', '#5b6672', '#776600', '#006f87'],
  scale: ['#e9f1fa', '#a9cbec', '#4d93d4', '#155fa8', '#06305c'],
}

export const dark: Theme = {
  ink: '#e6ebf0',
  faint: '#a9b5c1',
  grid: '#2e3a46',
  ground: '#18212a',
  series: ['#6cb2ff', '#ffa25e', '#4fd1a0', '#d49bf0', '#ff8fa3', '#aab4bf', '#e0c95c', '#5fd3e8'],
  scale: ['#22303e', '#244f78', '#2f7fc0', '#74b9f5', '#d9eeff'],
}
