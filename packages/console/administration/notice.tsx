import { Button, IconButton } from '@parley/ui/elements/button.tsx';
import { Confirm } from '@parley/ui/overlays/confirm.tsx';
import { Check, Copy, X } from 'lucide';
import { useState } from 'preact/hooks';
import { texts } from '../texts/texts.ts';

export interface Notice {
  readonly text: string;
  /** A credential that cannot be shown again, and the name of its owner. */
  readonly secret?: string;
  readonly of?: string;
}

/** Says what an action has done. */
export function NoticeBox({ text, secret, of, onClose }: Notice & { readonly onClose: () => void }) {
  const [isCopied, setCopied] = useState(false);
  const [isAsked, setAsked] = useState(false);
  const close = () => (secret === undefined || isCopied ? onClose() : setAsked(true));
  return (
    <div class="notice" role="status">
      <p>{text}</p>
      {secret !== undefined && (
        <>
          <p>
            <strong>{of}</strong>
            {texts.administration.shownOnce}
          </p>
          <CopyLine label={texts.administration.secret} text={secret} onCopied={() => setCopied(true)} />
        </>
      )}
      <IconButton icon={X} label={texts.administration.closeNotice} onClick={close} />
      {isAsked && (
        <Confirm
          title={texts.administration.askClose}
          text={texts.administration.notCopied}
          action={texts.administration.closeAnyway}
          isDanger
          onConfirm={async () => onClose()}
          onClose={() => setAsked(false)}
        />
      )}
    </div>
  );
}

export interface CopyLineProps {
  readonly label: string;
  readonly text: string;
  readonly onCopied?: () => void;
}

/** A text to copy. */
export function CopyLine({ label, text, onCopied }: CopyLineProps) {
  const [isCopied, setCopied] = useState(false);
  return (
    <span class="copy-line">
      <input
        readOnly
        aria-label={label}
        value={text}
        onFocus={({ currentTarget }) => currentTarget.select()}
        onCopy={onCopied}
      />
      <Button
        icon={isCopied ? Check : Copy}
        onClick={() => {
          navigator.clipboard?.writeText(text).then(
            () => {
              setCopied(true);
              onCopied?.();
            },
            () => {},
          );
        }}
      >
        {isCopied ? texts.administration.copied : texts.administration.copy}
      </Button>
    </span>
  );
}
