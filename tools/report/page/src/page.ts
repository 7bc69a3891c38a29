// SPDX-License-Identifier: Apache-2.0
// The page as a whole: the answer first, then sections in the order in which a reader asks.

import { chartView, type ChartView } from './chart_view'
import { element } from './elements'
import { formatted } from './format'
import type { Figure, Report, Section } from './report'
import { tableView } from './table_view'
import { dark, light, type Theme } from './theme'

const THEME_KEY = 'weft-report-theme'

function figureCard(figure: Figure): HTMLElement {
  return element('div', { class: 'figure' },
    element('dt', {}, figure.name),
    element('dd', {}, element('span', { class: 'value' }, formatted(figure.value, figure.unit)),
      ...(figure.more ? [element('span', { class: 'besides' }, figure.more)] : [])))
}

function sectionView(section: Section, charts: ChartView[]): HTMLElement {
  const views = section.charts.map(chartView)
  charts.push(...views)
  return element('section', { id: section.id, 'aria-labelledby': `${section.id}-title` },
    element('h2', { id: `${section.id}-title` }, section.title),
    ...section.text.map((text) => element('p', { class: 'text' }, text)),
    ...(section.notes.length > 0 ? [element('ul', { class: 'notes' }, ...section.notes.map((note) => element('li', {}, note)))] : []),
    ...views.map((view) => view.element),
    ...section.tables.map((table) => element('div', { class: 'standing', id: table.id }, element('h3', {}, table.title), tableView(table))))
}

/** What the reader chose, or else what the system says. */
function startTheme(): 'light' | 'dark' {
  const chosen = ((): string | null => {
    try { return localStorage.getItem(THEME_KEY) } catch { return null }
  })()
  if (chosen === 'light' || chosen === 'dark') return chosen
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
}

export function showReport(report: Report, page: HTMLElement): void {
  document.title = `${report.title} – Weft ${report.kind}`
  const charts: ChartView[] = []
  const sections = report.sections.map((section) => sectionView(section, charts))
  const toggle = element('button', { type: 'button', class: 'toggle' })
  const print = element('button', { type: 'button', class: 'toggle' }, 'Print')
  print.addEventListener('click', () => window.print())
  page.append(
    element('a', { class: 'skip', href: '#main' }, 'Skip to the results'),
    element('header', {},
      element('div', { class: 'top' },
        element('p', { class: 'kind' }, `Weft ${report.kind}`),
        element('div', { class: 'controls' }, toggle, print)),
      element('h1', {}, report.title),
      element('p', { class: 'subtitle' }, report.subtitle),
      ...report.warnings.map((warning) => element('p', { class: 'warning', role: 'note' }, warning))),
    element('nav', { 'aria-label': 'Sections' },
      element('ul', {}, ...report.sections.map((section) => element('li', {}, element('a', { href: `#${section.id}` }, section.title))))),
    element('main', { id: 'main', tabindex: -1 },
      ...(report.figures.length > 0 ? [element('dl', { class: 'figures', 'aria-label': 'Headline figures' }, ...report.figures.map(figureCard))] : []),
      ...sections),
    element('footer', {}, element('p', {}, `Made by Weft ${report.version}. Everything on this page is in this file; it needs no network.`)))

  let name = startTheme()
  const drawAll = (theme: Theme): void => charts.forEach((chart) => chart.draw(theme))
  const apply = (): void => {
    document.documentElement.dataset.theme = name
    toggle.textContent = name === 'dark' ? 'Light colours' : 'Dark colours'
    drawAll(name === 'dark' ? dark : light)
  }
  toggle.addEventListener('click', () => {
    name = name === 'dark' ? 'light' : 'dark'
    try { localStorage.setItem(THEME_KEY, name) } catch { /* a page from a file may not be allowed to */ }
    apply()
  })
  apply()
  let waiting = 0
  addEventListener('resize', () => {
    cancelAnimationFrame(waiting)
    waiting = requestAnimationFrame(() => charts.forEach((chart) => chart.resize()))
  })
  const paper_width = 680
  addEventListener('beforeprint', () => {
    document.documentElement.dataset.theme = 'light'
    drawAll(light)
    charts.forEach((chart) => chart.resize(paper_width))
  })
  addEventListener('afterprint', () => {
    apply()
    charts.forEach((chart) => chart.resize())
  })
}
