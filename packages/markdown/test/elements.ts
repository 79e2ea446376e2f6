import { type ComponentType, h, render } from 'preact';

/** As much of a node of a page as Preact uses to draw. */
class PageNode {
  readonly attributes = new Map<string, string>();
  readonly childNodes: PageNode[] = [];
  readonly nodeType: number;
  readonly localName: string | null;
  parentNode: PageNode | null = null;
  data: string;

  /** Without a name it is a text. */
  constructor(localName: string | null, data = '') {
    this.nodeType = localName === null ? 3 : 1;
    this.localName = localName;
    this.data = data;
  }

  get ownerDocument() {
    return document;
  }

  get firstChild(): PageNode | null {
    return this.childNodes[0] ?? null;
  }

  get nextSibling(): PageNode | null {
    const siblings = this.parentNode?.childNodes ?? [];
    return siblings[siblings.indexOf(this) + 1] ?? null;
  }

  insertBefore(node: PageNode, before: PageNode | null): PageNode {
    node.parentNode?.removeChild(node);
    this.childNodes.splice(
      before === null ? this.childNodes.length : this.childNodes.indexOf(before),
      0,
      node,
    );
    node.parentNode = this;
    return node;
  }

  removeChild(node: PageNode): PageNode {
    this.childNodes.splice(this.childNodes.indexOf(node), 1);
    node.parentNode = null;
    return node;
  }

  setAttribute(name: string, value: unknown): void {
    this.attributes.set(name, String(value));
  }

  removeAttribute(name: string): void {
    this.attributes.delete(name);
  }
}

const document = {
  createElementNS: (_: string, name: string) => new PageNode(name),
  createTextNode: (text: string) => new PageNode(null, text),
};
Object.assign(globalThis, { document });

/** Returns what a component draws within its outermost element, with `href` and `value` alone. */
export function elementsAsHtml<Props extends object>(component: ComponentType<Props>, props: Props): string {
  const root = new PageNode('div');
  render(h(component, props), root as unknown as Element);
  return root.childNodes[0]!.childNodes.map(htmlOf).join('');
}

function htmlOf(node: PageNode): string {
  const { localName: name, data, attributes, childNodes } = node;
  if (name === null) return escaped(data);
  const inner = childNodes.map(htmlOf).join('');
  if (name === 'section' || name === 'thead' || name === 'tbody') return inner;
  if (name === 'br' || name === 'hr') return `<${name}>`;
  const shown = [...attributes].filter(([key]) => key === 'href' || key === 'value');
  return `<${name}${shown.map(([key, value]) => ` ${key}="${escaped(value)}"`).join('')}>${inner}</${name}>`;
}

/** Escapes a text for HTML. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
