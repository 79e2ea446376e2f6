import type { LocalAttachment } from '@parley/client';
import { isSafeAddress } from '@parley/markdown/addresses.ts';
import type { Attachment } from '@parley/protocol/resources/attachment.ts';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { sizeText } from '@parley/ui/text/bytes.ts';
import { shownAddress, shownName } from '@parley/ui/text/shown-name.ts';
import { FileText } from 'lucide';
import { useState } from 'preact/hooks';
import type { WidgetTexts } from '../texts/widget-texts.ts';

type Shown = Attachment | LocalAttachment;

export interface BubbleFilesProps {
  readonly attachments: readonly Shown[];
  readonly texts: WidgetTexts;
}

/** The pictures, files and links of a message. */
export function BubbleFiles({ attachments, texts }: BubbleFilesProps) {
  if (attachments.length === 0) return null;
  return (
    <ul class="bubble-files" aria-label={texts.files}>
      {attachments.map((attachment, index) => (
        <li key={attachment.id ?? index}>
          <BubbleFile attachment={attachment} texts={texts} />
        </li>
      ))}
    </ul>
  );
}

interface BubbleFileProps {
  readonly attachment: Shown;
  readonly texts: WidgetTexts;
}

function BubbleFile({ attachment, texts }: BubbleFileProps) {
  const { kind, url, filename, size_bytes: size, removed_at: removedAt } = attachment;
  // A file that this browser cannot show as a picture is a plain file.
  const [isBroken, setBroken] = useState(false);
  const name = kind === 'link' && url !== null ? shownAddress(url) : shownName(filename ?? texts.attachment);
  const address = url !== null && isSafeAddress(url) ? url : undefined;
  // A message that is being sent has a preview, which no link leads to.
  const preview = url?.startsWith('blob:') ? url : address;
  const isPicture = kind === 'image' && preview !== undefined && !isBroken;
  const content = isPicture ? (
    <img src={preview} alt={name} loading="lazy" decoding="async" onError={() => setBroken(true)} />
  ) : (
    <>
      <Icon of={FileText} />
      <span class="one-line" dir="auto">
        {name}
      </span>
      {removedAt ? <small>{texts.fileGone}</small> : size != null && <small>{sizeText(size)}</small>}
    </>
  );
  const look = isPicture ? 'bubble-picture' : 'bubble-file';
  if (address === undefined) return <span class={look}>{content}</span>;
  return (
    <a class={look} href={address} target="_blank" rel="noopener nofollow ugc">
      {content}
    </a>
  );
}
