import type { SearchHighlight } from '@parley/protocol/resources/search-hit.ts';
import { piecesOf } from './pieces.ts';

/** Shows a text with the searched words marked. */
export function Highlighted({ of }: { readonly of: Pick<SearchHighlight, 'text' | 'ranges'> }) {
  return (
    <>
      {piecesOf(of).map(({ text, isHit }, index) =>
        isHit ? (
          <mark key={index} class="search-mark">
            {text}
          </mark>
        ) : (
          text
        ),
      )}
    </>
  );
}
