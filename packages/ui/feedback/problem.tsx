/** Says why something has failed, in the words of the server; nothing for an empty text. */
export function Problem({ text }: { readonly text: string }) {
  return text === '' ? null : (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}
