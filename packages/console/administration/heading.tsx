import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Link } from '../nav/link.tsx';
import { useNamedPage } from '../nav/page-name.ts';
import { texts } from '../texts/texts.ts';
import type { Section } from './section.ts';

export interface HeadingProps {
  readonly section: Section;
  /** The name of the item shown; absent for the list. */
  readonly title?: string;
  /** Buttons beside it. */
  readonly children?: ComponentChildren;
}

/** The heading of a page, with the way back. It takes the focus that the page before has lost. */
export function Heading({ section, title, children }: HeadingProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useNamedPage(
    title === undefined || title === section.title ? section.title : `${title} · ${section.title}`,
  );
  useEffect(() => {
    if (document.activeElement === document.body) heading.current!.focus();
  }, []);
  return (
    <header class="administration-head">
      <nav aria-label={texts.administration.wayBack}>
        <Link to={{ main: { at: 'administration', section: '' } }}>{texts.administration.title}</Link>
        {title !== undefined && section.list !== undefined && (
          <>
            {' / '}
            <Link to={{ main: { at: 'administration', section: section.slug } }}>{section.title}</Link>
          </>
        )}
      </nav>
      <div class="field-line administration-title">
        <h1 ref={heading} tabIndex={-1}>
          {title ?? section.title}
        </h1>
        <div class="field-line">{children}</div>
      </div>
    </header>
  );
}
