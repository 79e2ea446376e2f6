import { Button, IconButton } from '@parley/ui/elements/button.tsx';
import { Check, Copy, X } from 'lucide';
import { useState } from 'preact/hooks';

export interface Notice {
  readonly text: string;
  /** A credential that cannot be shown again, and the name of its owner. */
  readonly secret?: string;
  readonly of?: string;
}

/** Says what an action has done. */
export function NoticeBox({ text, secret, of, onClose }: Notice & { readonly onClose: () => void }) {
  return (
    <div class="notice" role="status">
      <p>{text}</p>
      {secret !== undefined && (
        <>
          <p>
            <strong>{of}</strong>: it is shown this once. Keep it where it is safe.
          </p>
          <CopyLine label="Secret" text={secret} />
        </>
      )}
      <IconButton icon={X} label="Close the notice" onClick={onClose} />
    </div>
  );
}

/** A text to copy. */
export function CopyLine({ label, text }: { readonly label: string; readonly text: string }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <span class="copy-line">
      <input
        readOnly
        aria-label={label}
        value={text}
        onFocus={({ currentTarget }) => currentTarget.select()}
      />
      <Button
        icon={isCopied ? Check : Copy}
        onClick={() => {
          navigator.clipboard?.writeText(text).then(
            () => setCopied(true),
            () => {},
          );
        }}
      >
        {isCopied ? 'Copied' : 'Copy'}
      </Button>
    </span>
  );
}
