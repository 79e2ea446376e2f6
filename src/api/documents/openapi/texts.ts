import { readFileSync } from 'node:fs';

/** Returns the paragraphs of a Markdown file of this folder, each by its heading. */
export function readTexts(file: string): ReadonlyMap<string, string> {
  const [, ...sections] = readFileSync(new URL(file, import.meta.url), 'utf8').split(/^## /m);
  return new Map(
    sections.map((section) => {
      const [name = '', ...lines] = section.trim().split('\n');
      return [name, lines.join(' ').trim()];
    }),
  );
}
