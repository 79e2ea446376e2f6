/**
 * Parses the JSON of a token: one object in which no member occurs twice, at any depth. Parsers
 * differ in which of two members they keep, so such a token would mean two things. Returns
 * undefined for everything else.
 */
export function parseStrictObject(text: string): Readonly<Record<string, unknown>> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return isSingular(text) ? (value as Readonly<Record<string, unknown>>) : undefined;
}

/** Greater depth than a token needs would only cost time. */
const MAX_DEPTH = 16;

/** Returns whether no object in this valid JSON has a duplicate member, and none is too deep. */
function isSingular(text: string): boolean {
  const open: (Set<string> | undefined)[] = [];
  let name: string | undefined;
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === '{' || token === '[') {
      if (open.push(token === '{' ? new Set() : undefined) > MAX_DEPTH) return false;
    } else if (token === '}' || token === ']') open.pop();
    else if (token === ':') {
      const names = open.at(-1)!;
      // Escapes are another spelling of the same name.
      const member: string = JSON.parse(name!);
      if (names.has(member)) return false;
      names.add(member);
    } else name = token;
  }
  return true;
}

/** Tokens that structure valid JSON: brackets, colons, and strings, which may contain both. */
const TOKENS = /[{}[\]:]|"(?:[^"\\]|\\.)*"/g;
