// SPDX-License-Identifier: Apache-2.0
// Elements of the page, in short.

type Attributes = Record<string, string | number | boolean>

export function element<K extends keyof HTMLElementTagNameMap>(
  name: K, attributes: Attributes = {}, ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false) continue
    made.setAttribute(key, value === true ? '' : String(value))
  }
  made.append(...children)
  return made
}
