import { texts } from '../texts/texts.ts';

/** The reasons of failed tries as people read them. */
const ERRORS: Readonly<Record<string, string>> = texts.webhooks.errors;

/** Returns how a try ended. */
export function resultText(error: string | null, code: number | null): string {
  if (error === null) return code === null ? '' : texts.webhooks.answered(code);
  return (ERRORS[error] ?? error).replace('{code}', String(code));
}
