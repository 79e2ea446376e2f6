import { useEffect, useState } from 'preact/hooks';

/** Returns a `ref`, and whether its element has been near the visible part of the page. */
export function useSeen<E extends Element>(): readonly [ref: (element: E | null) => void, isSeen: boolean] {
  const [element, setElement] = useState<E | null>(null);
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    if (isSeen || element === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true);
      },
      { rootMargin: '200px' },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [isSeen, element]);
  return [setElement, isSeen];
}
