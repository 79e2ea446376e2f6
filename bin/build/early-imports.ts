/**
 * Returns a module without the imports that have no use but to load another module early, for
 * bundles that need none.
 */
export function withoutEarlyImports(code: string): string {
  return code.replace(/^ *import\('[^']+'\)\.catch\(\(\) => \{\}\);$/gm, '');
}
