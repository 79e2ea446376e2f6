import { Button } from '@parley/ui/elements/button.tsx';
import { useEffect, useRef, useState } from 'preact/hooks';
import { hasRemotePictures, withPictures } from './mail-pictures.ts';
import { hasTable } from './mail-table.ts';

export interface MailHtmlProps {
  /** As the server has sanitized it. */
  readonly html: string;
  /** The address of each attachment of the message, in order. */
  readonly files: readonly (string | null)[];
}

/**
 * The HTML of a mail behind a button, open where it has a table of data, in a frame of another origin (src/edge/console/mail-frame.ts).
 * Pictures of other hosts are loaded when the person asks for them.
 */
export function MailHtml({ html, files }: MailHtmlProps) {
  const [isOpen, setOpen] = useState(() => hasTable(html));
  const [isLoading, setLoading] = useState(false);
  return (
    <>
      <Button class="mail-fold" look="plain" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Hide the HTML' : 'Show as HTML'}
      </Button>
      {isOpen && hasRemotePictures(html) && !isLoading && (
        <p class="mail-pictures">
          Pictures from other servers are not loaded, since they tell the sender that the mail is read.
          <Button look="plain" onClick={() => setLoading(true)}>
            Load pictures
          </Button>
        </p>
      )}
      {isOpen && <Frame key={isLoading} html={withPictures(html, files, isLoading)} isLoading={isLoading} />}
    </>
  );
}

function Frame({ html, isLoading }: { readonly html: string; readonly isLoading: boolean }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(0);
  useEffect(() => {
    const onMessage = ({ source, data }: MessageEvent<unknown>) => {
      if (source === frame.current?.contentWindow && typeof data === 'number') setHeight(data);
    };
    addEventListener('message', onMessage);
    return () => removeEventListener('message', onMessage);
  }, []);
  return (
    <iframe
      ref={frame}
      class="mail-html"
      title="The mail as HTML"
      sandbox="allow-scripts allow-popups allow-popups-to-escape-sandbox"
      style={{ height: `${height}px` }}
      src={isLoading ? '/console/mail-frame/pictures' : '/console/mail-frame'}
      onLoad={() => frame.current?.contentWindow?.postMessage(html, '*')}
    />
  );
}
