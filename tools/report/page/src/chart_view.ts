// SPDX-License-Identifier: Apache-2.0
// A chart on the page: heading, picture, caption, and its table behind a button. Arrow keys go from
// point to point, show what a pointer would show, and say it to screen readers.

import { BarChart, CustomChart, GraphChart, HeatmapChart, LineChart, ScatterChart } from 'echarts/charts'
import { AriaComponent, GridComponent, LegendComponent, TooltipComponent, VisualMapComponent } from 'echarts/components'
import { init, use, type ECharts } from 'echarts/core'
import { SVGRenderer } from 'echarts/renderers'
import { element } from './elements'
import { heightOf, optionOf, stops } from './options'
import type { Chart } from './report'
import { tableOf } from './table'
import { tableView } from './table_view'
import type { Theme } from './theme'

use([
  BarChart, CustomChart, GraphChart, HeatmapChart, LineChart, ScatterChart,
  AriaComponent, GridComponent, LegendComponent, TooltipComponent, VisualMapComponent, SVGRenderer,
])

export interface ChartView {
  element: HTMLElement
  /** Once the element is in the page, and again whenever the theme changes. */
  draw: (theme: Theme) => void
  resize: (width?: number) => void
}

export function chartView(chart: Chart): ChartView {
  const caption = element('figcaption', { id: `${chart.id}-caption` }, chart.caption)
  const picture = element('div', {
    class: 'picture', id: `${chart.id}-picture`, role: 'img', tabindex: 0, style: `height:${heightOf(chart)}px`,
    'aria-label': `${chart.title}. Arrow keys go from point to point.`, 'aria-describedby': `${chart.id}-caption`,
  })
  const spoken = element('p', { class: 'spoken', 'aria-live': 'polite' })
  const details = element('details', { class: 'data' }, element('summary', {}, `Table: ${chart.title}`))
  details.addEventListener('toggle', () => {
    if (details.open && details.childElementCount === 1) details.append(tableView(tableOf(chart)))
  })
  const figure = element('figure', { class: 'chart', id: chart.id, 'data-kind': chart.kind },
    element('h3', {}, chart.title), caption, picture, spoken,
    ...(chart.note ? [element('p', { class: 'note' }, chart.note)] : []), details)

  let drawn: ECharts | null = null
  const places = stops(chart)
  let at = -1
  const show = (next: number): void => {
    if (!drawn || places.length === 0) return
    at = Math.min(Math.max(next, 0), places.length - 1)
    const [seriesIndex, dataIndex] = places[at]!
    drawn.dispatchAction({ type: 'showTip', seriesIndex, dataIndex })
    const tip = picture.querySelector<HTMLElement>('.tip')
    spoken.textContent = tip?.innerText.replace(/\s+/g, ' ') ?? ''
  }
  picture.addEventListener('keydown', (event) => {
    const steps: Record<string, number> = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: places.length - 1 }
    const next = steps[event.key]
    if (event.key === 'Escape') drawn?.dispatchAction({ type: 'hideTip' })
    if (next === undefined) return
    event.preventDefault()
    show(next)
  })
  picture.addEventListener('blur', () => drawn?.dispatchAction({ type: 'hideTip' }))
  return {
    element: figure,
    draw: (theme) => {
      drawn ??= init(picture, null, { renderer: 'svg' })
      drawn.setOption(optionOf(chart, theme), { notMerge: true })
      // The picture is one image for screen readers; its caption and table say what it shows.
      picture.querySelector('svg')?.setAttribute('aria-hidden', 'true')
    },
    resize: (width) => drawn?.resize(width === undefined ? {} : { width }),
  }
}
