// SPDX-License-Identifier: Apache-2.0
// Opens reports in Debian's Chromium, headless, and tries them as a reader does: nothing is said on
// the console, every chart has marks and a tooltip, Tab reaches every control, arrow keys go from
// point to point, axe finds no violation in light and in dark, nothing is asked of the network, and
// a run of 100,000 transfers is ready within two seconds.
//
//   node browser_test.mjs WEFT WORK_FOLDER, which has the packages (see browser_test)
//
// Exit status 77 (skipped) where Chromium or the packages of package.json are not installed.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [weft, work] = process.argv.slice(2)
const chromium_path = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)
const skip = (why) => {
  console.log(`skipped: ${why}`)
  process.exit(77)
}
if (!chromium_path) skip('Chromium is not installed (Debian package chromium)')
const require = createRequire(join(work, 'package.json'))
let chromium
let axe
try {
  chromium = require('playwright-core').chromium
  axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')
} catch {
  skip('playwright-core and axe-core are not installed (npm ci of tests/tools/report/package.json)')
}

let failures = 0
function check(holds, what) {
  if (holds) return
  failures += 1
  console.error(`FAILED: ${what}`)
}

// What is looked at.
const folder = (name) => join(work, name)
const run = (...parameters) => execFileSync(weft, parameters, { stdio: ['ignore', 'ignore', 'inherit'], cwd: work })
const inputs = {
  'cluster.textproto': `name: "browser" topology { builder: "rail_optimized" set { name: "hosts" value: "8" } set { name: "server" value: "hgx_h100" } set { name: "oversubscription" value: "2" } }
job { name: "experts" iterations: 4 workload { file: "tokens.textproto" } }
job { name: "later" gpus: 32 submit: "1ms" duration: "3ms" }
set { name: "flow.queue_pairs" value: "4" }`,
  'tokens.textproto': `ranks: 64 role { name: "all" op { name: "before" compute { duration: "1ms" } } op { name: "tokens" deps: "before" collective { type: ALL_TO_ALL size: "4MB" } } }`,
  'study.textproto': `question: "Which oversubscription <b>&</b> how many queue pairs?" base { scenario: "cluster.textproto" } axis { name: "rail_optimized.oversubscription" value: "1" value: "2" value: "4" }
axis { name: "flow.queue_pairs" value: "1" value: "4" } replicates: 2 metric { name: "mean_iteration_s" } metric { name: "slowest_fct_ns" column: "flows.fct_ns" statistic: MAX }`,
}
/** A run's folder with 100,000 transfers of sizes from 1 kB to 100 MB, as a flow list leaves it. */
function write_many_transfers(path, count) {
  rmSync(path, { recursive: true, force: true })
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'summary.json'), JSON.stringify({ name: 'many transfers', mode: 'flow', makespan_s: 1, mean_fct_s: 1e-3, fingerprint: '0' }))
  writeFileSync(join(path, 'manifest.json'), JSON.stringify({ seed: 1, results: [], inputs: [], parameters: {} }))
  const rows = ['flow_id,job,src,dst,size_bytes,start_ns,end_ns,fct_ns,ideal_fct_ns,slowdown,multiplicity']
  for (let i = 0; i < count; ++i) {
    const size = Math.round(1e3 * 10 ** ((5 * ((i * 7919) % count)) / count))
    const ideal = 2000 + size / 50
    const fct = ideal * (1 + ((i * 104729) % 1000) / 250)
    rows.push(`${i},,h${i % 512},h${(i * 31) % 512},${size},${i * 1000},${i * 1000 + fct},${fct},${ideal},${fct / ideal},1`)
  }
  writeFileSync(join(path, 'flows.csv'), rows.join('\n') + '\n')
}

mkdirSync(work, { recursive: true })
for (const [name, text] of Object.entries(inputs)) writeFileSync(join(work, name), text)
for (const name of ['flow', 'packet', 'study', 'same']) rmSync(folder(name), { recursive: true, force: true })
run('run', 'cluster.textproto', '--out=flow', '--report', '--quiet')
run('run', 'cluster.textproto', '--mode=packet', '--sample=20us', '--out=packet', '--report', '--quiet')
run('study', 'study.textproto', '--out=study', '--report', '--quiet')
try {
  run('compare', 'flow', 'packet', '--out=same', '--report')
} catch (ended) {
  if (ended.status !== 1) throw ended
}
write_many_transfers(folder('many'), 100_000)
run('report', 'many')

const project = ['project', 'training', 'llama3_70b', 'llama3_70b_nemo', 'hgx_h100', '--gpus=64', '--estimate-only', '--quiet']
const search = ['project', 'search', 'llama3_8b', 'hgx_h100', '--gpus=16', '--global-batch=32', '--simulate=0', '--quiet']
const golden = (name) => join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '../../golden/cases', name)
for (const name of ['projection', 'plans', 'calibration']) rmSync(folder(name), { recursive: true, force: true })
run('explain', 'flow', '--what-if=4', '--report', '--quiet')
run(...project, '--report=projection')
run(...search, '--report=plans')
run('calibrate', `--topology=${golden('calibrate_fit')}/net.textproto`, `--flows=${golden('calibrate_fit')}/flows.txt:hpcc`, `--measured=${golden('calibrate_fit')}/fct.csv`,
  '--fit=flow.wqe_latency,flow.network_efficiency', '--hold-out=0.2', '--out=fitted.textproto', '--anew', '--report=calibration', '--quiet')

// Every study that is shipped, reduced: the first two values of each axis, small messages.
const shipped = join(golden(''), '../../../tools/examples/studies')
/** Points of a study that lists them: two of each scenario. */
function two_points_each(text) {
  const seen = {}
  return text.replace(/^point .*scenario" value: "([^"]*)".*$/gm, (line, scenario) => ((seen[scenario] = (seen[scenario] ?? 0) + 1) <= 2 ? line : ''))
}
function reduced(text, is_study) {
  if (!is_study) return text.replace(/size: "\d+MB"/g, 'size: "1MB"')
  return two_points_each(text).replace(/(?:\bvalue: "[^"]*"\s*){3,}/g, (values) => values.match(/value: "[^"]*"/g).slice(0, 2).join(' ') + ' ').replace(/^replicates: .*$/m, 'replicates: 2')
}
const studies = readdirSync(shipped).filter((name) => existsSync(join(shipped, name, 'study.textproto')))
check(studies.length > 5, `studies in ${shipped}`)
for (const name of studies) {
  const copy = folder(`shipped_${name}`)
  rmSync(copy, { recursive: true, force: true })
  cpSync(join(shipped, name), copy, { recursive: true })
  for (const file of readdirSync(copy).filter((one) => one.endsWith('.textproto'))) {
    const text = readFileSync(join(copy, file), 'utf8')
    writeFileSync(join(copy, file), reduced(text, file === 'study.textproto'))
  }
  // Of lists of jobs on simulated networks the first few.
  const simulates = readdirSync(copy).some((one) => one.endsWith('.textproto') && /^jobs \{/m.test(readFileSync(join(copy, one), 'utf8')) && /^topology \{/m.test(readFileSync(join(copy, one), 'utf8')))
  for (const file of simulates ? readdirSync(copy).filter((one) => one.endsWith('.csv')) : [])
    writeFileSync(join(copy, file), readFileSync(join(copy, file), 'utf8').split('\n').slice(0, 9).join('\n') + '\n')
  const begin = Date.now()
  run('study', join(copy, 'study.textproto'), `--out=${join(copy, 'out')}`, '--report', '--quiet', '--time-limit=20s')
  console.log(`study ${name}, reduced: ${((Date.now() - begin) / 1000).toFixed(1)} s`)
}

/** At least these charts are there. */
const expected = {
  flow: ['breakdown', 'path-0', 'durations', 'gantt', 'gpu_use', 'tiers_max', 'tiers_mean', 'topology', 'fct'],
  packet: ['breakdown', 'gantt', 'tiers_max', 'topology', 'fct', 'tier_queue', 'link_rate', 'link_queue'],
  study: ['line-0', 'heat-0', 'line-1', 'heat-1', 'pareto'],
  same: ['changes'],
  many: ['fct', 'slowdown', 'cloud'],
  projection: ['breakdown', 'parts', 'memory-0'],
  plans: ['pareto'],
  calibration: ['parameters', 'times', 'errors', 'search'],
  ...Object.fromEntries(studies.map((name) => [`shipped_${name}/out`, [name === 'simulation_cost' ? 'scatter-0-0' : 'line-0']])),
}

async function try_charts(page, name) {
  for (const chart of await page.locator('figure.chart').all()) {
    const id = `${name} ${await chart.getAttribute('id')}`
    const marks = await chart.locator('.picture svg path').count()
    check(marks >= 3, `${id}: ${marks} marks`)
    check((await chart.locator('figcaption').innerText()).length > 20, `${id}: a caption in words`)
    const picture = chart.locator('.picture')
    await picture.focus()
    await page.keyboard.press('ArrowRight')
    await page.waitForTimeout(30)
    check(await chart.locator('.tip').isVisible(), `${id}: a tooltip by keyboard`)
    const first = await chart.locator('.spoken').textContent()
    check(first.length > 3, `${id}: what a screen reader says`)
    await page.keyboard.press('End')
    check((await chart.locator('.spoken').textContent()) !== '', `${id}: the last point`)
    const summary = chart.locator('summary')
    await summary.focus()
    await page.keyboard.press('Enter')
    const has_rows = await chart.locator('tbody tr').first().waitFor({ timeout: 15000 }).then(() => true, () => false)
    check(has_rows, `${id}: rows in its table`)
  }
}

/** Each control that can be used has been the one with the focus. */
async function try_tab(page, name) {
  await page.evaluate(() => {
    document.activeElement?.blur()
    document.querySelectorAll('a[href], button:not([hidden]), summary, [tabindex="0"]').forEach((one) => one.setAttribute('data-untouched', ''))
    document.addEventListener('focusin', (event) => event.target.removeAttribute('data-untouched'))
    window.scrollTo(0, 0)
  })
  const controls = await page.locator('[data-untouched]').count()
  // Areas that scroll take the focus, too.
  for (let i = 0; i < 2 * controls + 5; ++i) {
    await page.keyboard.press('Tab')
    if ((await page.locator('[data-untouched]').count()) === 0) break
  }
  const missed = await page.locator('[data-untouched]').evaluateAll((all) => all.filter((one) => one.offsetParent !== null).map((one) => one.outerHTML.slice(0, 80)))
  check(controls > 5 && missed.length === 0, `${name}: Tab misses ${missed.length} of ${controls} controls: ${missed.slice(0, 3).join(' ')}`)
}

async function try_axe(page, name) {
  await page.evaluate(axe)
  const found = await page.evaluate(() => window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }))
  check(found.passes.some((rule) => rule.id === 'color-contrast'), `${name}: contrast was looked at`)
  for (const violation of found.violations)
    check(false, `${name}: axe ${violation.id}: ${violation.help}: ${violation.nodes.slice(0, 2).map((node) => node.html.slice(0, 120)).join(' | ')}`)
}

const browser = await chromium.launch({ executablePath: chromium_path, args: ['--no-sandbox'] })
for (const [name, charts] of Object.entries(expected)) {
  const file = join(folder(name), 'report.html')
  const page = await browser.newPage({ colorScheme: 'light', viewport: { width: 1200, height: 900 } })
  const said = []
  page.on('console', (message) => said.push(message.text()))
  page.on('pageerror', (error) => said.push(error.message))
  page.on('request', (request) => {
    if (!request.url().startsWith('file:') && !request.url().startsWith('data:')) said.push(`asks for ${request.url()}`)
  })
  // The best of several, as other programs may have the cores.
  let ready_ms = Infinity
  for (let i = 0; i < 5 && ready_ms >= 2000; ++i) {
    await page.goto(`file://${file}`)
    await page.waitForFunction(() => document.documentElement.dataset.ready !== undefined)
    ready_ms = Math.min(ready_ms, Number(await page.evaluate(() => document.documentElement.dataset.ready)))
  }
  console.log(`${name}: ${(statSync(file).size / 1e6).toFixed(2)} MB, ready after ${ready_ms} ms`)
  check(ready_ms < 2000, `${name}: ready after ${ready_ms} ms`)
  const ids = await page.locator('[id]').evaluateAll((all) => all.map((one) => one.id))
  check(new Set(ids).size === ids.length, `${name}: an id is there twice`)
  for (const chart of charts) check((await page.locator(`#${chart}`).count()) === 1, `${name}: chart ${chart}`)
  check((await page.locator('dl.figures dd').count()) > 0, `${name}: headline figures`)
  await try_axe(page, `${name}, light`)
  await page.screenshot({ path: join(work, `${name.replace('/', '_')}_light.png`), fullPage: true })
  await try_charts(page, name)
  await try_tab(page, name)
  check((await page.locator('html').getAttribute('data-theme')) === 'light', `${name}: light, as the system asks for`)
  await page.locator('button.toggle').first().click()
  check((await page.locator('html').getAttribute('data-theme')) === 'dark', `${name}: the toggle`)
  await try_axe(page, `${name}, dark, tables open`)
  await page.screenshot({ path: join(work, `${name.replace('/', '_')}_dark.png`), fullPage: true })
  await page.setViewportSize({ width: 400, height: 800 })
  await page.waitForTimeout(100)
  check(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${name}: nothing sticks out of a narrow page`)
  await page.screenshot({ path: join(work, `${name.replace('/', '_')}_narrow.png`), fullPage: true })
  await page.setViewportSize({ width: 1000, height: 900 })
  await page.emulateMedia({ media: 'print' })
  await page.waitForTimeout(100)
  check(!(await page.locator('nav').isVisible()), `${name}: no links for a pointer on paper`)
  await page.pdf({ path: join(work, `${name.replace('/', '_')}.pdf`), format: 'A4', printBackground: true })
  check(said.length === 0, `${name}: the console says ${said.join('; ')}`)
  await page.close()
}
// A pointer shows the same as the keyboard.
const page = await browser.newPage({ viewport: { width: 1200, height: 900 } })
await page.goto(`file://${join(folder('flow'), 'report.html')}`)
await page.locator('#gpu_use-picture').hover()
await page.waitForTimeout(100)
check(await page.locator('#gpu_use .tip').isVisible(), 'flow: a tooltip by pointer')
await browser.close()

const template = readFileSync(join(folder('many'), 'report.html'), 'utf8').replace(/<script type="application\/json".*?<\/script>/s, '')
console.log(`page without data: ${(template.length / 1e6).toFixed(2)} MB`)
check(template.length < 5e6, `the page without data has ${template.length} bytes`)
console.log(failures === 0 ? 'passed' : `${failures} failed`)
process.exit(failures === 0 ? 0 : 1)
