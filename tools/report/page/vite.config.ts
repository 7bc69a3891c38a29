import { readFileSync } from 'node:fs'
import { defineConfig, type Plugin } from 'vite'

/** Puts script and style into the page itself: one file, which needs no other. */
function oneFile(): Plugin {
  return {
    name: 'one-file',
    enforce: 'post',
    generateBundle(_options, bundle) {
      const page = bundle['index.html']
      if (page?.type !== 'asset') throw new Error('index.html is not in the bundle')
      let html = String(page.source)
      for (const [name, part] of Object.entries(bundle)) {
        if (part.type === 'chunk') {
          const script = part.code.replaceAll('</script', '<\\/script')
          html = html.replace(/<script type="module"[^>]*><\/script>\s*/, '')
          html = html.replace('</body>', () => `<script type="module">${script}</script>\n</body>`)
          delete bundle[name]
        } else if (name.endsWith('.css')) {
          html = html.replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${String(part.source)}</style>`)
          delete bundle[name]
        }
      }
      page.source = html
    },
  }
}

/** `vite` serves the page with the data of the file that WEFT_REPORT_DATA names. */
function sampleData(): Plugin {
  return {
    name: 'sample-data',
    apply: 'serve',
    transformIndexHtml(html) {
      const path = process.env.WEFT_REPORT_DATA
      return path ? html.replace('{{weft-report}}', () => readFileSync(path, 'utf8').replaceAll('<', '\\u003c')) : html
    },
  }
}

export default defineConfig({
  plugins: [oneFile(), sampleData()],
  build: { target: 'es2020', modulePreload: false, cssCodeSplit: false, assetsInlineLimit: 0, reportCompressedSize: false },
})
