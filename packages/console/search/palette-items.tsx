import { hasWords } from '@parley/protocol/folding.ts';
import type { Choice } from '@parley/ui/choices/choice-line.tsx';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { PARTS } from '../nav/parts.ts';
import { go } from '../nav/place.ts';
import type { SignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';

/** A target of the palette. */
export interface PaletteItem extends Choice {
  readonly act: () => void | Promise<void>;
}

/** Returns the places of the console whose names have the words. */
export function placesFor(signedIn: SignedIn, words: string): PaletteItem[] {
  return PARTS.filter(({ label, isOffered }) => isOffered(signedIn) && hasWords(label, words)).map(
    ({ to, icon, label }) => ({
      id: `place-${to.at}`,
      name: label,
      group: texts.search.places,
      picture: <Icon of={icon} />,
      act: () => go({ main: to }),
    }),
  );
}
