import type { ReactElement } from 'react';
import type { TimelineMessage } from '../../index.ts';
import type { Words } from './words.ts';

/** The properties of the files of a message. */
export interface AttachmentsProps {
  readonly attachments: TimelineMessage['attachments'];
  readonly words: Words;
}

/** Shows the files of a message: pictures, and links to the others. */
export function Attachments({ attachments, words }: AttachmentsProps): ReactElement | null {
  if (attachments === null || attachments.length === 0) return null;
  return (
    <ul className="parley-attachments" aria-label={words.files}>
      {attachments.map(({ id, kind, url, filename }, index) => {
        const name = filename ?? url ?? '';
        const address = url !== null && ADDRESS.test(url) ? url : undefined;
        const isPicture = kind === 'image' && address !== undefined;
        return (
          <li key={id ?? `${index} ${name}`} className="parley-attachment">
            <a href={address} target="_blank" rel="noreferrer noopener">
              {isPicture ? <img src={address} alt={name} loading="lazy" /> : <bdi>{name}</bdi>}
            </a>
          </li>
        );
      })}
    </ul>
  );
}

/** Addresses that open something, and run nothing. */
const ADDRESS = /^(https?:|blob:|\/)/i;
