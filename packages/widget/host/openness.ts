/**
 * Whether the panel of a widget is open in this tab, also on the next page that the tab shows, if
 * the browser can keep it.
 */

const keyOf = (widgetId: string) => `parley-open-${widgetId}`;

export function wasOpen(widgetId: string): boolean {
  try {
    return sessionStorage.getItem(keyOf(widgetId)) !== null;
  } catch {
    return false;
  }
}

export function keepOpen(widgetId: string, isOpen: boolean): void {
  try {
    if (isOpen) sessionStorage.setItem(keyOf(widgetId), '');
    else sessionStorage.removeItem(keyOf(widgetId));
  } catch {
    // The next page begins with a closed panel.
  }
}
