/**
 * Elements in which writing keys are for a text or a choice. Somebody who types at the radio or the
 * button of a form has its text in mind.
 */
const FOR_TEXT = 'form, fieldset, label, input, textarea, select, [role="menu"], [role="listbox"]';

/** Returns whether keys that write something belong to the element. */
export function isForText(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.closest(FOR_TEXT) !== null);
}
