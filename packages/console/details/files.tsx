import { useConversation } from '@parley/client/react';
import type { List } from '@parley/protocol/lists.ts';
import type { ConversationFile } from '@parley/protocol/resources/conversation-file.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { usePages } from '@parley/ui/hooks/pages.ts';
import { sizeText } from '@parley/ui/text/bytes.ts';
import { shownName } from '@parley/ui/text/shown-name.ts';
import { shortTimeOf } from '@parley/ui/text/time.ts';
import { File, Image } from 'lucide';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { Section } from './section.tsx';

export interface FilesProps {
  readonly conversationId: string;
}

/** The files of a conversation, newest first. */
export function Files({ conversationId }: FilesProps) {
  const { client } = useSignedIn();
  const { messages } = useConversation(conversationId);
  const newest = messages.findLast((one) => one.delivery === 'sent' && (one.attachments ?? []).length > 0);
  const files = usePages(
    `/v1/messaging/conversations/${conversationId}/files?limit=10`,
    (path, signal) => client.fetch<List<ConversationFile>>(path, { signal }),
    { version: `${newest?.id} ${newest?.deleted_at}` },
  );
  return (
    <Section title={texts.details.files}>
      {files.items?.length === 0 && <p class="section-empty">{texts.details.noFile}</p>}
      <ul class="files">
        {files.items?.map((file) => (
          <FileRow key={file.id} file={file} />
        ))}
      </ul>
      <Problem text={files.problem} />
      {files.hasMore && (
        <Button look="plain" onClick={files.more}>
          {texts.details.showMore}
        </Button>
      )}
    </Section>
  );
}

function FileRow({ file }: { readonly file: ConversationFile }) {
  const { kind, filename, size_bytes: size, url, sender, sent_at, picture_metadata: place } = file;
  const name = shownName(filename ?? texts.details.aFile);
  const detail = [
    sender?.name,
    shortTimeOf(sent_at),
    size === null ? null : sizeText(size),
    place && texts.details.pictureData[place],
  ];
  return (
    <li>
      <Icon of={kind === 'image' ? Image : File} />
      <span class="files-name">
        {url === null ? (
          <s title={texts.details.fileRemoved}>{name}</s>
        ) : (
          <a href={url} target="_blank" rel="noopener nofollow ugc">
            {name}
          </a>
        )}
        <small>{detail.filter(Boolean).join(' · ')}</small>
      </span>
    </li>
  );
}
