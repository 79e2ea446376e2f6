import type { IconNode } from 'lucide';
import { h } from 'preact';

/** A drawing of `lucide`, as large as the text unless `size` says otherwise. It has no name. */
export function Icon({ of, size = 18 }: { readonly of: IconNode; readonly size?: number }) {
  return (
    <svg
      class="icon"
      aria-hidden="true"
      viewBox="0 0 24 24"
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
    >
      {of.map(([tag, attributes], index) => h(tag, { key: index, ...attributes }))}
    </svg>
  );
}
