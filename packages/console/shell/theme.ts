import { useSyncExternalStore } from 'preact/compat';

/** The looks of the console; `system` follows the device. */
export type Theme = 'system' | 'light' | 'dark';

const KEY = 'parley-theme';
const listeners = new Set<() => void>();

function keptTheme(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}

/** Gives the page the theme that this browser keeps. Must be called before the first drawing. */
export function applyTheme(): void {
  const theme = keptTheme();
  const { classList } = document.documentElement;
  classList.toggle('theme-light', theme === 'light');
  classList.toggle('theme-dark', theme === 'dark');
  for (const listener of listeners) listener();
}

/** Changes the theme, in every tab of this browser. */
export function setTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  applyTheme();
}

/** Follows the theme. */
export function useTheme(): Theme {
  return useSyncExternalStore(follow, keptTheme);
}

function follow(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener('storage', applyTheme);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) removeEventListener('storage', applyTheme);
  };
}
