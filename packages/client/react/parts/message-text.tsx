import type { ReactElement } from 'react';

/** Shows a text as it was written, with its addresses as links. Nothing of it becomes HTML. */
export function MessageText({ text }: { readonly text: string }): ReactElement {
  const pieces = text.split(/(https?:\/\/[^\s<>"']*[^\s<>"'.,:;!?)\]])/);
  return (
    <p className="parley-message-text" dir="auto">
      {pieces.map((piece, index) =>
        index % 2 === 0 ? (
          piece
        ) : (
          <a key={`${index} ${piece}`} href={piece} target="_blank" rel="noreferrer noopener">
            {piece}
          </a>
        ),
      )}
    </p>
  );
}
