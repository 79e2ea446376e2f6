import { readFileSync } from 'node:fs';

/** Paragraphs of Markdown, each by its heading. */
export type Texts = ReadonlyMap<string, string>;

/** Reads the paragraphs of Markdown files, or of a named file in this folder. */
export function readTexts(files: string | readonly URL[]): Texts {
  const urls = typeof files === 'string' ? [new URL(files, import.meta.url)] : files;
  return new Map(
    urls.flatMap((url) => {
      const [, ...sections] = readFileSync(url, 'utf8').split(/^## /m);
      return sections.map((section) => {
        const [name = '', ...lines] = section.trim().split('\n');
        return [name, lines.join(' ').trim()] as const;
      });
    }),
  );
}
