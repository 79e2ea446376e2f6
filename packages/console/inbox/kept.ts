import { useState } from 'preact/hooks';

/** Returns a choice that stays with the tab, also after a reload. */
export function useKept(key: string): readonly [string | null, (value: string) => void] {
  const name = `parley-${key}`;
  const [value, setValue] = useState(() => sessionStorage.getItem(name));
  const keep = (next: string) => {
    sessionStorage.setItem(name, next);
    setValue(next);
  };
  return [value, keep];
}
