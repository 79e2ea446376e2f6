import { uiTexts } from './ui-texts.ts';

/**
 * Returns why something has failed: words of the page for the code of the error, where its language
 * has some, else the message of the error. Takes what was thrown, or the error of an answer.
 */
export function failureText(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('message' in error)) return String(error);
  const message = String(error.message);
  const words = 'code' in error ? uiTexts.feedback.failures[String(error.code)] : undefined;
  return words?.(message) ?? message;
}
