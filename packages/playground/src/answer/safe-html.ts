import DOMPurify from 'dompurify';
import { frameTable } from './frame-table.js';

const ALLOWED = {
  ALLOWED_TAGS: [
    ...['a', 'abbr', 'b', 'blockquote', 'br', 'caption', 'code', 'dd', 'del', 'details', 'div', 'dl', 'dt'],
    ...['em', 'h3', 'h4', 'h5', 'h6', 'hr', 'i', 'ins', 'kbd', 'li', 'mark', 'ol', 'p', 'pre', 'q', 's'],
    ...['samp', 'small', 'span', 'strong', 'sub', 'summary', 'sup', 'table', 'tbody', 'td', 'th', 'thead'],
    ...['tr', 'u', 'ul', 'var'],
  ],
  ALLOWED_ATTR: ['align', 'class', 'colspan', 'href', 'open', 'rowspan', 'start', 'title', 'type'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  IN_PLACE: true,
};

/** The name of an attribute. The browser reports each style that the page forbids, also where it has no effect. */
const STYLE = /(?<=[\s"'])style(?=\s*=)/gi;

/** Classes that change a text only. Every other class belongs to the page: with it, an agent could cover the page. */
const CLASS = /^(?:h[1-6]|math|plain-text|hljs-[a-z_-]+|language-.+)$/;

DOMPurify.addHook('afterSanitizeAttributes', (node) => {
  for (const name of [...node.classList]) if (!CLASS.test(name)) node.classList.remove(name);
  if (node.tagName !== 'A') return;
  // An address without a host would be one of this service.
  if (!/^(?:https?:|mailto:)/i.test(node.getAttribute('href') ?? '')) return node.removeAttribute('href');
  node.setAttribute('target', '_blank');
  node.setAttribute('rel', 'noopener noreferrer');
});

/** HTML that is safe to show, with a frame around tables and code. */
export function safeHtml(html: string): string {
  // In a template, pictures and elements with styles have no effect. Elsewhere the browser reports those that the page forbids.
  const template = document.createElement('template');
  template.innerHTML = html.replace(/<[^<>]*>/g, (tag) => tag.replace(STYLE, 'data-style'));
  const root = template.content.ownerDocument.createElement('div');
  root.append(template.content);
  DOMPurify.sanitize(root, ALLOWED);
  for (const table of root.querySelectorAll('table')) frameTable(table);
  for (const code of root.querySelectorAll('pre > code:only-child')) frameCode(code);
  return root.innerHTML;
}

/** The button is made after the agent's HTML has lost its own: none can look like it and copy something else. */
function frameCode(code: Element): void {
  // What is folded would be copied unseen.
  if (code.querySelector('details')) return;
  const pre = code.parentElement!;
  const language = /(?<=^language-)\S+/.exec(code.className)?.[0] ?? 'text';
  const button = made('button', 'copy-code', 'Copy code');
  button.setAttribute('type', 'button');
  const head = made('div', 'code-head');
  head.append(made('span', 'language', language), button);
  const frame = made('div', 'code');
  pre.tabIndex = 0;
  pre.replaceWith(frame);
  frame.append(head, pre);
}

function made(tag: string, className: string, text = ''): HTMLElement {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}
