/**
 * Puts a text in the place of a part of a field, as if it had been typed: it can be undone, and the
 * field reports it.
 */
export function insertText(field: HTMLTextAreaElement, text: string, from: number, to: number): void {
  field.focus();
  field.setSelectionRange(from, to);
  // Browsers can undo nothing else.
  if (document.execCommand(text === '' ? 'delete' : 'insertText', false, text)) return;
  field.setRangeText(text, from, to, 'end');
  field.dispatchEvent(new InputEvent('input', { bubbles: true }));
}
