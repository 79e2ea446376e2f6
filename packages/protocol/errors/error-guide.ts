import { readFileSync } from 'node:fs';
import type { ErrorCondition } from './errors.ts';

/** The text about a condition on its documentation page and in the examples of OpenAPI. */
interface ErrorAdvice {
  /** When it happens. */
  readonly when: string;
  /** The caller's remedy. */
  readonly remedy: string;
  /** An example of its `message`. */
  readonly message: string;
  /** A `param` that the error may name. */
  readonly param: string | null;
}

/** The conditions of the errors and how to handle them: the sections of error-guide.md. */
export const ERROR_GUIDE: Readonly<Record<ErrorCondition, ErrorAdvice>> = readGuide();

function readGuide(): Record<ErrorCondition, ErrorAdvice> {
  const text = readFileSync(new URL('error-guide.md', import.meta.url), 'utf8');
  const [, ...sections] = text.split(/^## /m);
  const entries = sections.map((section) => {
    const paragraphs = section.trim().split('\n\n');
    const [name, when, remedy, message, param] = paragraphs.map((lines) => lines.replaceAll('\n', ' '));
    const advice = { when, remedy, message: message?.replace(/^Example: /, '') };
    return [name, { ...advice, param: param?.replace(/^Param: /, '') ?? null }];
  });
  return Object.fromEntries(entries);
}
