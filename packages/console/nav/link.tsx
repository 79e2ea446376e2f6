import type { ComponentProps } from 'preact';
import { go, type Place, pathOf } from './place.ts';

export type LinkProps = Omit<ComponentProps<'a'>, 'href' | 'role'> & { readonly to: Place };

/** A link to a place of the console. A click with a modifier opens it as browsers do. */
export function Link({ to, onClick, children, ...rest }: LinkProps) {
  return (
    <a
      {...rest}
      href={pathOf(to)}
      onClick={(event) => {
        onClick?.(event);
        const isPlain =
          event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
        if (event.defaultPrevented || !isPlain) return;
        event.preventDefault();
        go(to);
      }}
    >
      {children}
    </a>
  );
}
