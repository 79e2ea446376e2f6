export interface Import {
  readonly specifier: string;
  readonly isType: boolean;
}

/** Returns the imports of a module: static, re-exporting, bare and dynamic ones alike. */
export function importsOf(text: string): Import[] {
  const found: Import[] = [];
  for (const [, words = '', specifier = ''] of text.matchAll(
    /^\s*((?:import|export)\b[^'"`;]*?\bfrom|import)\s*['"]([^'"]+)['"]/gm,
  )) {
    found.push({ specifier, isType: /^(import|export)\s+type\b/.test(words) });
  }
  for (const [, specifier = ''] of text.matchAll(/\bimport\s*\(\s*['"`]([^'"`]+)['"`]/g)) {
    found.push({ specifier, isType: false });
  }
  return found;
}
