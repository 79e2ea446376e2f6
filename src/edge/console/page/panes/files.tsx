import { File, Image } from 'lucide';
import { useConversation } from '../../../../contract/client/react/index.ts';
import type { ConversationFile } from '../../../../contract/protocol/resources/conversation-file.ts';
import { Button } from '../../../../platform/ui/button.tsx';
import { sizeText } from '../../../../platform/ui/bytes.ts';
import { Icon } from '../../../../platform/ui/icon.tsx';
import { usePages } from '../../../../platform/ui/pages.ts';
import { Problem } from '../../../../platform/ui/problem.tsx';
import { shownName } from '../../../../platform/ui/shown-name.ts';
import { shortTimeOf } from '../../../../platform/ui/time.ts';
import { Section } from './section.tsx';

export interface FilesProps {
  readonly conversationId: string;
}

/** The files of a conversation, newest first. */
export function Files({ conversationId }: FilesProps) {
  const { messages, live } = useConversation(conversationId);
  const newest = messages.findLast((one) => one.delivery === 'sent' && (one.attachments ?? []).length > 0);
  const key = live === undefined ? '' : `${conversationId} ${newest?.id} ${newest?.deleted_at}`;
  const files = usePages<ConversationFile>(key, () => live!.files({ limit: 10 }));
  return (
    <Section title="Files">
      {files.status === 'ready' && files.items.length === 0 && <p class="section-empty">No file was sent.</p>}
      <ul class="files">
        {files.items.map((file) => (
          <FileRow key={file.id} file={file} />
        ))}
      </ul>
      <Problem text={files.problem} />
      {files.hasMore && (
        <Button look="plain" disabled={files.status === 'loading'} onClick={files.more}>
          Show more
        </Button>
      )}
    </Section>
  );
}

function FileRow({ file }: { readonly file: ConversationFile }) {
  const { kind, filename, size_bytes: size, url, sender, sent_at } = file;
  const name = shownName(filename ?? 'A file');
  const detail = [sender?.name, shortTimeOf(sent_at), size === null ? null : sizeText(size)];
  return (
    <li>
      <Icon of={kind === 'image' ? Image : File} />
      <span class="files-name">
        {url === null ? (
          <s title="The file was removed.">{name}</s>
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
