import type { SentMessage } from '@parley/client';
import { useConversation } from '@parley/client/react';
import { useUploads } from '@parley/client/react/headless/use-uploads.ts';
import { pastedFiles } from '@parley/client/writing/pasted.ts';
import { EmojiButton } from '@parley/ui/choices/emoji-picker.tsx';
import { Button, IconButton } from '@parley/ui/elements/button.tsx';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { useFileDrop } from '@parley/ui/files/file-drop.ts';
import { FilesButton } from '@parley/ui/files/files-button.tsx';
import { UploadList } from '@parley/ui/files/upload-list.tsx';
import { giveFocus } from '@parley/ui/hooks/kept-focus.ts';
import { Markdown } from '@parley/ui/text/markdown.tsx';
import { insertText } from '@parley/ui/typing/insert-text.ts';
import { pressedKey } from '@parley/ui/typing/pressed-key.ts';
import { Eye, FilePen, PenLine, SendHorizontal, Smile } from 'lucide';
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Writing } from '../session/kept-writing.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { MailFields, useConversationEmail } from '../writing/mail-fields.tsx';
import { applyFormat, MessageField } from '../writing/message-field.tsx';
import { messageOf } from '../writing/outgoing.ts';
import { useStanding } from '../writing/use-standing.ts';
import { AudienceChoice } from './audience-choice.tsx';
import { FormatBar } from './format-bar.tsx';
import { SendLater } from './send-later.tsx';
import { Strangers } from './strangers.tsx';
import { UPLOAD_RULES } from './upload-rules.ts';
import { useWriting } from './use-writing.ts';

export interface ComposerProps {
  readonly conversationId: string;
  /** The first message of the thread. */
  readonly replyTo?: string;
}

export interface ComposerFormProps extends ComposerProps {
  /** Whether the field has the focus when it is shown. */
  readonly takesFocus: boolean;
  /** Called by the up arrow in an empty field, with the last message of the person. */
  readonly onEditLast: (message: SentMessage) => void;
}

interface SendOptions {
  /** Now by default. */
  readonly at?: Date | undefined;
  readonly isDraft?: boolean;
}

/** A send before the conversation was read. A later change of the text gives it up. */
interface WaitingSend {
  readonly options: SendOptions;
  readonly writing: Writing;
}

/** The form of one conversation or thread. */
export function ComposerForm(props: ComposerFormProps) {
  const { conversationId, replyTo, onEditLast, takesFocus } = props;
  const { me } = useSignedIn();
  const { live } = useConversation(conversationId);
  const { conversation, isTeam } = useStanding(conversationId);
  const { writing, change, clear } = useWriting(
    replyTo === undefined ? conversationId : `${conversationId} ${replyTo}`,
  );
  const { uploads, files } = useUploads(UPLOAD_RULES);
  const [problem, say] = useState('');
  const [waiting, setWaiting] = useState<WaitingSend | null>(null);
  const [isPreview, setPreview] = useState(false);
  const [sent, setSent] = useState(0);
  const form = useRef<HTMLFormElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (takesFocus) field.current?.focus();
  }, [takesFocus]);
  // The pressed button is disabled, as the field is empty again.
  useEffect(() => {
    if (sent > 0) giveFocus(field.current);
  }, [sent]);

  // A remembered reply is a reply even before the conversation was read.
  const isCase = isTeam && (conversation?.audience ?? writing.audience) === 'customer';
  const audience = isCase ? writing.audience : null;
  const isReply = audience === 'customer';
  const isMail = isReply && conversation !== null && typeof conversation.inbox_id === 'string';
  const email = useConversationEmail(conversationId, isMail);
  const words = texts.composer[audience ?? 'all'];
  const isEmpty = writing.text.trim() === '' && files.length === 0;

  const addFiles = (added: readonly File[]) => {
    if (live === undefined || added.length === 0) return;
    const left = uploads.add(added, live.upload);
    say(left === 0 ? '' : texts.composer.tooManyFiles(left));
    field.current?.focus();
  };
  const isOver = useFileDrop(form, isTeam, addFiles);

  const send = ({ at, isDraft = false }: SendOptions = {}) => {
    if (live === undefined) return;
    // The conversation decides whether it has replies, and whom a message can mention.
    if (conversation === null && (isReply || writing.mentions.length > 0)) {
      setWaiting({ options: { at, isDraft }, writing });
      return;
    }
    if (files.some((one) => one.attachment === undefined && one.problem === undefined)) {
      say(texts.composer.stillUploading);
      return;
    }
    if (files.some(({ problem }) => problem !== undefined)) {
      say(texts.composer.filesFailed);
      return;
    }
    const participants = conversation?.participants ?? [];
    const message = messageOf({
      writing,
      audience,
      isMail,
      replyTo,
      isDraft,
      at: at?.toISOString(),
      attachments: files.map(({ attachment }) => attachment!),
      memberIds: new Set(participants.map(({ actor, actor_id }) => actor_id ?? actor?.id ?? '')),
    });
    if (message === null) return;
    say('');
    // The timeline shows the outcome.
    void live.send(message);
    clear();
    uploads.clear();
    setPreview(false);
    setSent((count) => count + 1);
  };
  useEffect(() => {
    if (waiting === null || conversation === null) return;
    setWaiting(null);
    if (waiting.writing === writing) send(waiting.options);
  });
  const editLast = () => {
    const own = live?.messages.findLast(
      (one): one is SentMessage =>
        one.delivery === 'sent' &&
        one.author_id === me.actor.id &&
        one.deleted_at === null &&
        (replyTo === undefined || one.reply_to_id === replyTo),
    );
    if (own !== undefined) onEditLast(own);
    return own !== undefined;
  };
  const key = (event: KeyboardEvent) => {
    const isPlain = !(event.shiftKey || event.ctrlKey || event.metaKey || event.altKey);
    if (pressedKey(event) === 'ArrowUp' && isPlain && writing.text === '' && editLast())
      event.preventDefault();
  };
  const submit = (event: Event) => {
    event.preventDefault();
    send();
  };

  return (
    <form
      ref={form}
      class={`composer-form composer-form-${audience ?? 'all'} ${isOver ? 'composer-form-over' : ''}`}
      onSubmit={submit}
    >
      {isOver && <p class="file-drop">{texts.composer.drop}</p>}
      {audience !== null && (
        <AudienceChoice
          audience={audience}
          onChoose={(chosen) => change({ audience: chosen })}
          onPress={() => field.current?.focus()}
        />
      )}
      {isMail && (
        <MailFields
          to={email?.to ?? null}
          subject={writing.subject ?? email?.subject ?? ''}
          cc={writing.cc ?? email?.cc.join(', ') ?? ''}
          onChange={change}
        />
      )}
      {isPreview ? (
        <section class="composer-preview" aria-label={texts.composer.preview}>
          <Markdown text={writing.text} />
        </section>
      ) : (
        <MessageField
          conversationId={conversationId}
          field={field}
          label={words.label}
          placeholder={words.placeholder}
          {...(audience === null && replyTo === undefined && { shortcut: 'R' })}
          written={writing}
          onWritten={(changed) => {
            change(changed);
            if (changed.text !== undefined) live?.typing(changed.text !== '');
          }}
          onEnter={() => form.current?.requestSubmit()}
          onKey={key}
          onPaste={(event) => {
            const pasted = isTeam ? pastedFiles(event.clipboardData) : [];
            if (pasted.length === 0) return;
            event.preventDefault();
            addFiles(pasted);
          }}
        />
      )}
      <UploadList
        files={files}
        texts={texts.composer.uploads}
        onRemove={(file) => uploads.remove(file)}
        onRetry={(file) => live !== undefined && uploads.retry(file, live.upload)}
      />
      {isTeam && <Strangers conversationId={conversationId} writing={writing} />}
      <Problem text={problem} />
      <div class="composer-tools">
        {isTeam && (
          <FilesButton label={texts.composer.attach} field={texts.composer.files} onFiles={addFiles} />
        )}
        <EmojiButton
          label={texts.composer.emoji}
          icon={Smile}
          onPick={(emoji) => insertAtCaret(field, emoji)}
        />
        {!isPreview && (
          <FormatBar onFormat={(format) => field.current !== null && applyFormat(field.current, format)} />
        )}
        <IconButton
          icon={isPreview ? PenLine : Eye}
          label={isPreview ? texts.composer.writeOn : texts.composer.preview}
          disabled={!isPreview && writing.text.trim() === ''}
          onClick={() => setPreview(!isPreview)}
        />
        <span class="composer-space" />
        {isReply && (
          <IconButton
            icon={FilePen}
            label={texts.composer.saveDraft}
            disabled={isEmpty}
            onClick={() => send({ isDraft: true })}
          />
        )}
        {isTeam && <SendLater isDisabled={isEmpty} onChoose={(at) => send({ at })} />}
        <Button type="submit" look="primary" class="composer-send" icon={SendHorizontal} disabled={isEmpty}>
          {words.send}
        </Button>
      </div>
    </form>
  );
}

function insertAtCaret(field: RefObject<HTMLTextAreaElement | null>, text: string): void {
  const area = field.current;
  if (area !== null) insertText(area, text, area.selectionStart, area.selectionEnd);
}
