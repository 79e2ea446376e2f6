import type { LocalAttachment, TimelineMessage } from '@parley/client';
import { isSafeAddress } from '@parley/markdown/addresses.ts';
import type { Attachment } from '@parley/protocol/resources/attachment.ts';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { sizeText } from '@parley/ui/text/bytes.ts';
import { shownAddress, shownName } from '@parley/ui/text/shown-name.ts';
import { Download, File, FileText, Link as LinkIcon, Package, Sheet } from 'lucide';
import { useState } from 'preact/hooks';
import { texts } from '../texts/texts.ts';
import { PictureView } from './picture-view.tsx';

type Shown = Attachment | LocalAttachment;

/** The pictures, files, links and resources of a message. */
export function MessageAttachments({ message }: { readonly message: TimelineMessage }) {
  const [opened, setOpened] = useState<Shown | null>(null);
  const attachments: readonly Shown[] = message.attachments ?? [];
  if (attachments.length === 0 || message.deleted_at !== null) return null;
  return (
    <ul class="message-attachments" aria-label={texts.message.attachments}>
      {attachments.map((attachment, index) => (
        <li key={attachment.id ?? index}>
          {isPicture(attachment) ? (
            <Picture attachment={attachment} onOpen={() => setOpened(attachment)} />
          ) : (
            <OtherAttachment attachment={attachment} />
          )}
        </li>
      ))}
      {opened !== null && <PictureView attachment={opened} onClose={() => setOpened(null)} />}
    </ul>
  );
}

/** Returns whether it is a picture. Local echoes have previews of this page. */
function isPicture({ kind, url }: Shown): boolean {
  return kind === 'image' && url !== null && (url.startsWith('blob:') || isSafeAddress(url));
}

interface PictureProps {
  readonly attachment: Shown;
  readonly onOpen: () => void;
}

function Picture({ attachment, onOpen }: PictureProps) {
  const name = shownName(attachment.filename ?? texts.message.picture);
  return (
    <button type="button" class="message-picture" aria-label={texts.message.open(name)} onClick={onOpen}>
      <img src={attachment.url!} alt={name} loading="lazy" decoding="async" {...sizeOf(attachment)} />
    </button>
  );
}

/** Returns the size stated by the sender, which keeps the place before the picture is there. */
function sizeOf({ metadata }: Shown): { readonly width?: number; readonly height?: number } {
  const [width, height] = [Number(metadata?.width), Number(metadata?.height)];
  if (!(width > 0 && height > 0)) return {};
  const scale = Math.min(1, MOST_PX / width, MOST_PX / height);
  return { width: Math.round(width * scale), height: Math.round(height * scale) };
}

const MOST_PX = 320;

function OtherAttachment({ attachment }: { readonly attachment: Shown }) {
  const { kind, filename, url, size_bytes: size, resource, removed_at } = attachment;
  const address = url === null ? null : shownAddress(url);
  const name = shownName(
    filename ?? resource?.name ?? address ?? resource?.handle ?? texts.message.attachment,
  );
  const detail = removed_at
    ? texts.message.removed
    : size === null
      ? (resource?.handle ?? '')
      : size === undefined
        ? ''
        : sizeText(size);
  const content = (
    <>
      <Icon of={iconOf(attachment)} size={20} />
      <span class="one-line">{name}</span>
      {detail !== '' && <small>{detail}</small>}
    </>
  );
  if (url === null || !isSafeAddress(url)) return <span class="message-file">{content}</span>;
  return (
    <a class="message-file" href={url} target="_blank" rel="noopener nofollow ugc">
      {content}
      {kind !== 'link' && <Icon of={Download} size={16} />}
    </a>
  );
}

function iconOf({ kind, content_type: type }: Shown) {
  if (kind === 'link') return LinkIcon;
  if (kind === 'resource') return Package;
  if (type?.startsWith('text/') || type === 'application/pdf') return FileText;
  return type?.includes('sheet') || type === 'text/csv' ? Sheet : File;
}
