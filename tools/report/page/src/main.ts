// SPDX-License-Identifier: Apache-2.0
import './style.css'
import { showReport } from './page'
import type { Report } from './report'

const data = document.getElementById('report-data')?.textContent ?? ''
showReport(JSON.parse(data) as Report, document.getElementById('page')!)
// After what was drawn is on the screen.
requestAnimationFrame(() => requestAnimationFrame(() => {
  document.documentElement.dataset.ready = String(Math.round(performance.now()))
}))
