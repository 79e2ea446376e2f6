export interface AvatarProps {
  readonly name: string;
  /** The address of a picture, or null for the initials. */
  readonly url?: string | null | undefined;
  /** In pixels. */
  readonly size?: number;
  readonly presence?: 'online' | 'away' | 'offline' | undefined;
}

/** The picture of an actor, or its initials. Its name stands beside it, so it has none itself. */
export function Avatar({ name, url = null, size = 36, presence }: AvatarProps) {
  const side = { width: `${size}px`, height: `${size}px`, fontSize: `${Math.round(size * 0.4)}px` };
  return (
    <span class={`avatar avatar-${hueOf(name)}`} style={side} aria-hidden="true">
      {url === null ? (
        initialsOf(name)
      ) : (
        <img src={url} alt="" width={size} height={size} loading="lazy" draggable={false} />
      )}
      {presence !== undefined && presence !== 'offline' && <i class={`avatar-${presence}`} />}
    </span>
  );
}

const HUES = 6;

/** Returns a hue, always the same for the same name. */
function hueOf(name: string): number {
  let sum = 0;
  for (const letter of name) sum = (sum * 31 + letter.codePointAt(0)!) % 9_973;
  return sum % HUES;
}

function initialsOf(name: string): string {
  const words = name.trim().split(/\s+/);
  const ends = words.length > 1 ? [words[0]!, words.at(-1)!] : words;
  return ends
    .map((word) => [...word][0] ?? '')
    .join('')
    .toLocaleUpperCase();
}
