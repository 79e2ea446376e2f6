import type { ReactElement } from 'react';

/** The properties of a picture. */
export interface AvatarProps {
  readonly name: string | null | undefined;
  readonly url: string | null | undefined;
}

/** Shows the picture of a person, or the first letters of the name. */
export function Avatar({ name, url }: AvatarProps): ReactElement {
  const initials = (name ?? '?').split(/\s+/).map((word) => [...word][0] ?? '');
  return (
    <span className="parley-avatar" aria-hidden="true">
      {url == null ? initials.slice(0, 2).join('').toUpperCase() : <img src={url} alt="" />}
    </span>
  );
}
