import { parseAst } from 'rolldown/parseAst';

/** A node of the syntax tree; its children are nodes, or lists of nodes. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly [child: string]: unknown;
}

/** A text in a module that people would read. */
export interface ShownText {
  readonly line: number;
  readonly text: string;
}

/**
 * Returns the texts of a module of a page that people would read: those between tags, in attributes
 * and fields that are shown, and any other that has several words or a word with a capital.
 */
export function shownTexts(code: string): ShownText[] {
  const found: ShownText[] = [];
  walk(parseAst(code, { lang: 'tsx' }) as unknown as Node, false, (node, isShown) => {
    const text = textOf(node);
    if (text === undefined || NO_PROSE.test(text) || !(isShown ? LETTERS : PROSE).test(text)) return;
    found.push({ line: code.slice(0, node.start).split('\n').length, text: text.trim() });
  });
  return found;
}

/** Attributes and fields whose texts are shown. */
const SHOWN =
  /^(label|title|placeholder|alt|text|help|detail|does|about|warning|caption|one|action|reason|tick|hint|summary|empty|aria-(label|description|roledescription|valuetext|placeholder))$/;
/** Attributes and fields whose texts are never shown, although some have several words. */
const TECHNICAL =
  /^(class|className|type|role|rel|id|keys?|href|accept|autocomplete|look|style|d|part|first|dateStyle|timeStyle|aria-keyshortcuts|aria-controls|aria-labelledby|aria-describedby|data-.*)$/;
/** Calls whose texts are of the platform. */
const OF_PLATFORM =
  /^(querySelector(All)?|closest|matches|matchMedia|supports|(add|remove)EventListener|dispatchEvent|inLanguage|(get|set|remove)(Item|Attribute)|NumberFormat|DateTimeFormat|Headers|URL|KeyboardEvent|Event|RegExp)$/;

const LETTERS = /\p{L}{2}/u;
const PROSE =
  /\p{L}[\p{L}’]*[.,:;…?!)]*\s+[(“]?\p{L}|^\s+\p{L}{2}|\p{L}{2}[.,:]?\s+$|^\p{Lu}\p{Ll}+([.…?!]?$|\s)|\p{L}…/u;

/** Markup, selectors of elements, and names in the storage of the browser. */
const NO_PROSE = /^<[\s\S]*>$|^parley-|\[[\w-]+\]|^(\.[\w-]+|input|form),? [\w>:.]/;

type Visit = (node: Node, isShown: boolean) => void;

function walk(node: Node, isShown: boolean, visit: Visit): void {
  visit(node, isShown);
  for (const [name, child] of Object.entries(node)) {
    for (const one of Array.isArray(child) ? child : [child]) {
      if (!isNode(one)) continue;
      const next = isShownIn(node, name, isShown);
      if (next !== undefined) walk(one, next, visit);
    }
  }
}

/** Returns whether texts in a part of a node are shown; undefined where none can be. */
function isShownIn(node: Node, part: string, isShown: boolean): boolean | undefined {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportAllDeclaration':
    case 'ImportExpression':
    case 'TSTypeAnnotation':
    case 'TSTypeParameterInstantiation':
    case 'TSInterfaceDeclaration':
    case 'TSTypeAliasDeclaration':
    case 'TaggedTemplateExpression':
      return undefined;
    case 'TSAsExpression':
    case 'TSSatisfiesExpression':
      return part === 'expression' ? isShown : undefined;
    case 'ExportNamedDeclaration':
      return part === 'source' ? undefined : isShown;
    // Texts that are compared with others, and keys.
    case 'BinaryExpression':
      return node.operator === '+' ? isShown : undefined;
    case 'SwitchCase':
      return part === 'test' ? undefined : isShown;
    case 'MemberExpression':
      return part === 'property' ? undefined : isShown;
    case 'ConditionalExpression':
      return part === 'test' ? false : isShown;
    case 'JSXElement':
    case 'JSXFragment':
      return part === 'children';
    case 'JSXAttribute':
      return nameOf(node.name) === 'name' ? undefined : shownIn(nameOf(node.name));
    case 'Property':
      return part === 'key' ? undefined : shownIn(nameOf(node.key));
    case 'CallExpression':
    case 'NewExpression':
      return OF_PLATFORM.test(nameOf(node.callee) ?? '') ? undefined : false;
    case 'JSXExpressionContainer':
    case 'LogicalExpression':
    case 'TemplateLiteral':
    case 'ParenthesizedExpression':
    case 'JSXOpeningElement':
      return isShown;
    default:
      return false;
  }
}

function shownIn(name: string | undefined): boolean | undefined {
  if (name === undefined) return false;
  return TECHNICAL.test(name) ? undefined : SHOWN.test(name);
}

function nameOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === 'MemberExpression') return nameOf(node.property);
  const name = node.name ?? node.value;
  return typeof name === 'string' ? name : undefined;
}

function textOf(node: Node): string | undefined {
  const { value } = node as { readonly value?: unknown };
  if (node.type === 'TemplateElement') return (value as { readonly cooked: string }).cooked;
  const isText = node.type === 'JSXText' || node.type === 'Literal';
  return isText && typeof value === 'string' ? value : undefined;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}
