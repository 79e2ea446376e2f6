/**
 * Lets Preact move elements by `insertBefore` in every browser. It prefers `moveBefore`. After
 * that, Chromium leaves elements within the moved one in their earlier styles, where an attribute
 * that these depend on was changed with the move. A moved element therefore loses the focus.
 */
export function moveByInsertion(): void {
  Reflect.deleteProperty(Element.prototype, 'moveBefore');
}
