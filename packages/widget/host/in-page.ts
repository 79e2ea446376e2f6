/**
 * Keeps an element in a page that replaces its body. The element begins in the body: React 18, when
 * it hydrates a document, discards a document with an unknown child of `<html>`. A page that has
 * removed it once, as Turbo and Astro do with the body around it, will do so again. From then on
 * the element is beside the body, where it and a frame in it stay
 * (DECISIONS.md#the-widget-is-beside-the-body-once-the-body-was-replaced).
 */
export function keepInPage(element: HTMLElement): void {
  const observer = new MutationObserver(watch);
  document.body.append(element);
  watch();

  function watch(): void {
    observer.disconnect();
    if (!element.isConnected) {
      document.documentElement?.append(element);
      // In a task of its own, so that a page that removes it for good does not hang.
      setTimeout(watch);
      return;
    }
    for (let parent = element.parentNode; parent !== null; parent = parent.parentNode)
      observer.observe(parent, { childList: true });
  }
}
