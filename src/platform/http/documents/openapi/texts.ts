import { readFileSync } from 'node:fs';

/** The texts of operations.md and parameters.md: a heading for each, and a paragraph below it. */
const OPERATIONS = readTexts('operations.md');
const PARAMETERS = readTexts('parameters.md');

/** Returns undefined if the operation has no text. */
export function operationText(operation: string): string | undefined {
  return OPERATIONS.get(operation);
}

/** Returns undefined if the parameter has no text. */
export function parameterText(operation: string, parameter: string): string | undefined {
  return PARAMETERS.get(`${operation}.${parameter}`) ?? PARAMETERS.get(parameter);
}

function readTexts(file: string): ReadonlyMap<string, string> {
  const [, ...sections] = readFileSync(new URL(file, import.meta.url), 'utf8').split(/^## /m);
  return new Map(
    sections.map((section) => {
      const [name = '', ...lines] = section.trim().split('\n');
      return [name, lines.join(' ').trim()];
    }),
  );
}
